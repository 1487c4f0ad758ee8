"""Findings of lint: the rule, its severity, the place, why it matters and how to fix it.

An `Edit` is a correction of one setting that a program can apply.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Severity(StrEnum):
    """The severity of a finding.

    error: HBase does not start, data or the cache is lost, or a setting has no effect. warning: it costs money, slows
    the cluster down or surprises. info: facts about the version, and placeholders that remain.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Consequence(StrEnum):
    """The consequence of a finding that nobody mends, worst first.

    not safe: data, a cache, credentials or the stability of a server are at risk.
    """

    WILL_NOT_START = "will not start"
    NOT_SAFE = "not safe"
    IGNORED = "silently ignored"
    SLOW_OR_DEAR = "slow or dear"
    GOOD_TO_KNOW = "good to know"


class LintFinding(Struct, frozen=True, kw_only=True):
    """One finding; `value` is None where a setting is missing, and `line` is None where there is no file.

    `edit` mends it with certainty; where it is None, a person decides.
    """

    id: str
    severity: Severity
    classification: str
    property: str
    value: str | None
    message: str
    because: str
    fix: str
    line: int | None
    overridden: bool = False
    consequence: Consequence
    edit: Edit | None = None

    def sentence(self) -> str:
        """Return the message with its full stop; a message that ends with a question has its mark."""
        return self.message if self.message.endswith("?") else f"{self.message}."


class Report(Struct, frozen=True, kw_only=True):
    """All findings about one cluster, errors first, each severity by line.

    `replaced_release` is the release in the file where the caller chose another one.
    """

    source: str
    release: str | None
    findings: tuple[LintFinding, ...]
    replaced_release: str | None = None

    def of(self, severity: Severity) -> tuple[LintFinding, ...]:
        """Return the findings of one severity."""
        return tuple(finding for finding in self.findings if finding.severity is severity)


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
