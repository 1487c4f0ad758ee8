"""Hides secrets in the text of a file, so that a page can show its lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

from emr.cluster_spec import Setting
from lint.secret import ACCESS_KEY_ID, IN_ADDRESS, REDACTED, is_secret

NAMED: Final = re.compile(
    r"((?:secret|passw(?:or)?d|token|credential|access[._-]?key)[\w.-]*[\"'\\]*\s*[=:>]\s*[\"'\\]*)"
    r"(?!\(not shown)[^\s\"'<,\\]+",
    re.IGNORECASE,
)
"""A value beside a name that may be that of a secret, wherever it stands."""


def without_secrets(text: str, settings: Iterable[Setting]) -> str:
    """Return a text without the secret values of settings, in any notation, and without others that look secret."""
    for secret in sorted(_secrets(settings), key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    text = NAMED.sub(rf"\g<1>{REDACTED}", text)
    text = IN_ADDRESS.sub(f"://{REDACTED}@", text)
    return ACCESS_KEY_ID.sub(REDACTED, text)


def _secrets(settings: Iterable[Setting]) -> set[str]:
    values = {setting.value for setting in settings if is_secret(setting.key, setting.value)}
    in_json = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in values for ascii_only in (True, False)}
    in_xml = {escape(value) for value in values}
    in_shell = {value.replace("'", "'\\''") for value in values | in_json}
    return {value for value in values | in_json | in_xml | in_shell if value.strip()}
