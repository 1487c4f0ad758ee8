"""Whether two texts say the same to whoever reads the property: blanks, order and spelling make no difference."""

from __future__ import annotations

import re

from configurations.properties.property import Property
from configurations.properties.values import Decimal, ListOf, Switch, Values, Whole, number

__all__ = ["is_equivalent"]

ACCOUNT = "${AWS::AccountId}"


def is_equivalent(known: Property | None, before: str, after: str) -> bool:
    """Of a list the order does not count, of `files:` it does; of JVM options it does, for the last one wins."""
    values = known.values if known else None
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
