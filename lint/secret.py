"""Recognises secrets in a configuration, and redacts them in all output."""

from __future__ import annotations

import re
from typing import Final

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
