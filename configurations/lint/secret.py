"""What is secret in a configuration, and how it is kept out of whatever we print."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NOT_SHOWN", "is_secret"]

NOT_SHOWN: Final = "(not shown)"
KEY: Final = re.compile(r"((acc?ess|secret)[\w.-]*key(_?id)?|session[._]?token|password)$", re.IGNORECASE)
"""Slips among them: a misspelt key may hold the credential all the same."""
OPTION: Final = re.compile(r"-D[\w.]*(access\.key|secret\.key|session\.token|awsSecretAccessKey)=", re.IGNORECASE)
ACCESS_KEY_ID: Final = re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")


def is_secret(key: str, value: str) -> bool:
    """Whether a property holds a credential: by its name, among options of Java, or by the form of an access key."""
    return bool(KEY.search(key) or OPTION.search(value) or ACCESS_KEY_ID.search(value))
