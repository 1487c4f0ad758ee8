"""A correction of one setting that a program can apply."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct


class EditAction(StrEnum):
    """Ways to correct a setting."""

    REPLACE_KEY = "replace the key"
    REPLACE_VALUE = "replace the value"
    REMOVE = "remove the setting"


class Edit(Struct, frozen=True, kw_only=True):
    """One certain correction: `text` is the new key or the new value, empty where the setting is removed."""

    action: EditAction
    text: str = ""


def new_key(key: str) -> Edit:
    """Return the edit that gives a setting this key."""
    return Edit(action=EditAction.REPLACE_KEY, text=key)


def new_value(value: str) -> Edit:
    """Return the edit that gives a setting this value."""
    return Edit(action=EditAction.REPLACE_VALUE, text=value)


REMOVED: Final = Edit(action=EditAction.REMOVE)
"""The edit that removes a setting."""
