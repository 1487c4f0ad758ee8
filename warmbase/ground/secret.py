"""Secrets in a configuration: they are recognised, and redacted in all output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

REDACTED: Final = "(not shown)"
CREDENTIAL: Final = re.compile(
    r"((acc?ess|secret)[\w.-]*key(_?id)?|session[._]?token|secret|credential|passw(or)?d)$|^fs\.azure\.account\.key\.",
    re.IGNORECASE,
)
"""Names of static credentials, and misspelt ones, which may hold a credential too."""
MATERIAL: Final = re.compile(r"(encryption\.key|token|keystore\.pass|s\w*cr?et[\w.]*key)$", re.IGNORECASE)
"""Names that are sensitive without always being a credential; with those above they cover Hadoop's sensitive keys."""
OPTION: Final = re.compile(r"-D\S*(secret|password|token|credential|access\.?key)\S*=", re.IGNORECASE)
ACCESS_KEY_ID: Final = re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")
IN_ADDRESS: Final = re.compile(r"://[^/@\s:]+:[^/@\s]+@")


def holds_credential(key: str, value: str) -> bool:
    """Return whether a property has a credential in its name, a Java option, an address or an access key id."""
    return bool(
        CREDENTIAL.search(key) or OPTION.search(value) or ACCESS_KEY_ID.search(value) or IN_ADDRESS.search(value)
    )


def is_secret(key: str, value: str) -> bool:
    """Return whether a value must not be printed, because it is a credential or similar."""
    return holds_credential(key, value) or MATERIAL.search(key) is not None


def redacted(key: str, value: str) -> str:
    """Return the value, or a placeholder for a secret one."""
    return REDACTED if is_secret(key, value) else value


NAMED: Final = re.compile(
    r"((?:secret|passw(?:or)?d|token|credential|access[._-]?key)[\w.-]*[\"'\\]*\s*[=:>]\s*[\"'\\]*)"
    r"(?!\(not shown)[^\s\"'<,\\]+",
    re.IGNORECASE,
)
"""A value beside a name that may be that of a secret, wherever it stands."""


def without_secrets(text: str, properties: Iterable[tuple[str, str]]) -> str:
    """Return a text without the secret values of properties, in any notation, and without others that look secret."""
    values = {value for key, value in properties if is_secret(key, value)}
    in_json = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in values for ascii_only in (True, False)}
    in_xml = {escape(value) for value in values}
    in_shell = {value.replace("'", "'\\''") for value in values | in_json}
    for secret in sorted(values | in_json | in_xml | in_shell, key=len, reverse=True):
        if secret.strip():
            text = text.replace(secret, REDACTED)
    text = NAMED.sub(rf"\g<1>{REDACTED}", text)
    text = IN_ADDRESS.sub(f"://{REDACTED}@", text)
    return ACCESS_KEY_ID.sub(REDACTED, text)
