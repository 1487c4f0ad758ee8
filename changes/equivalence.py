"""Values of a property that mean the same: blanks, spelling, and the order of a list make no difference."""

from __future__ import annotations

import re

from configurations.properties.property import Property
from configurations.properties.values import Decimal, ListOf, Switch, Values, Whole, number

ACCOUNT = "${AWS::AccountId}"


def is_equivalent(catalogued: Property | None, before: str, after: str) -> bool:
    """Return whether both values mean the same.

    The order of a list does not matter. That of `files:` does, and so does that of JVM options: the last one wins.
    """
    values = catalogued.values if catalogued else None
    if _normal(values, before) == _normal(values, after):
        return True
    return ACCOUNT in after and _fills_in(after, before)


def _normal(values: Values | None, text: str) -> object:
    if isinstance(values, ListOf):
        return sorted(str(_normal(values.member, part)) for part in text.split(","))
    if isinstance(values, (Whole, Decimal)):
        value = number(text)
        return text.strip() if value is None else value
    if isinstance(values, Switch):
        return text.strip().lower()
    return " ".join(text.split())


def _fills_in(pattern: str, text: str) -> bool:
    """Return whether the text is the pattern with an account in it."""
    return re.fullmatch(re.escape(pattern).replace(re.escape(ACCOUNT), r"\d{12}"), text.strip()) is not None
