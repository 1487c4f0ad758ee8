"""What is secret in a configuration, and how it is kept out of whatever we print."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NOT_SHOWN", "holds_credential", "is_secret", "redacted"]

NOT_SHOWN: Final = "(not shown)"
CREDENTIAL: Final = re.compile(
    r"((acc?ess|secret)[\w.-]*key(_?id)?|session[._]?token|secret|credential|passw(or)?d)$|^fs\.azure\.account\.key\.",
    re.IGNORECASE,
)
"""Names of static credentials, slips among them: a misspelt key may hold one all the same."""
MATERIAL: Final = re.compile(r"(encryption\.key|token|keystore\.pass|s\w*cr?et[\w.]*key)$", re.IGNORECASE)
"""What is no credential in every use and still nobody's to read; with the above, Hadoop's sensitive keys."""
OPTION: Final = re.compile(r"-D\S*(secret|password|token|credential|access\.?key)\S*=", re.IGNORECASE)
ACCESS_KEY_ID: Final = re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")
IN_ADDRESS: Final = re.compile(r"://[^/@\s:]+:[^/@\s]+@")


def holds_credential(key: str, value: str) -> bool:
    """Whether a property holds one: by its name, among options of Java, in an address, or by an access key's form."""
    return bool(
        CREDENTIAL.search(key) or OPTION.search(value) or ACCESS_KEY_ID.search(value) or IN_ADDRESS.search(value)
    )


def is_secret(key: str, value: str) -> bool:
    """Return whether the value is not to be printed: a credential, or something like it."""
    return holds_credential(key, value) or MATERIAL.search(key) is not None


def redacted(key: str, value: str) -> str:
    """The value as it may be printed."""
    return NOT_SHOWN if is_secret(key, value) else value
