"""What a lint finds: which rule, how grave, where, why it matters and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["LintFinding", "Report", "Severity"]


class Severity(StrEnum):
    """How grave a finding is.

    error: it does not start, loses data or the cache, or does nothing of what it says. warning: it costs, slows or
    surprises. info: what to know of this version, and what is still to be filled in.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One finding. `value` is None where the fault is that nothing is stated; `line` where there is no file."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings of one subject, errors first, each sort by line."""

    source: str
    release: str | None
    findings: tuple[LintFinding, ...]

    def of(self, severity: Severity) -> tuple[LintFinding, ...]:
        """Return those of one severity."""
        return tuple(found for found in self.findings if found.severity is severity)
