"""The findings of lint as a page: the worst first, then by consequence, the totals last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Final

import click
from msgspec import Struct

from lint.finding import Consequence, LintFinding, Report, Severity
from lint.rules import BUGS
from reports.amounts import printable
from sizing.problem import fix_line

COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
GRAVITY: Final = {severity: rank for rank, severity in enumerate(Severity)}
SHORT_OF_LINE: Final = 10
"""A value that is longer than a line without these columns is cut, so that it fits one beside its indent."""
WORST: Final = 3
MOST_UNSORTED: Final = 6
"""A page with fewer findings needs no summary of the worst."""


class LintPage(Struct, frozen=True, kw_only=True):
    """A report and those of its findings that are listed; bugs of HBase take one line unless `every` is true."""

    report: Report
    listed: Report
    columns: int
    every: bool = False

    def text(self) -> str:
        """Return the whole page."""
        return "\n\n".join([self._head(), *self._worst(), *self._groups(), *self._bugs(), self._totals()])

    def _head(self) -> str:
        return self._filled(f"{self.report.source}, {self.report.release or 'release unknown'}")

    def _singles(self) -> list[LintFinding]:
        """Return the findings that are printed each by itself, worst first."""
        single = [finding for finding in self.listed.findings if self.every or finding.id not in BUGS]
        return sorted(single, key=_badness)

    def _worst(self) -> Iterator[str]:
        worst = self._singles()[:WORST]
        if len(self._singles()) >= MOST_UNSORTED:
            lines = [
                self._filled(f"{rank}. {_in_short(finding)}", indent="  ", hanging="     ")
                for rank, finding in enumerate(worst, 1)
            ]
            yield "\n".join([_bold("The worst three"), *lines])

    def _groups(self) -> Iterator[str]:
        singles = self._singles()
        for consequence in Consequence:
            group = [finding for finding in singles if finding.consequence is consequence]
            if group:
                yield _bold(f"{consequence.value.capitalize()} ({len(group)})")
                yield from map(self._finding, group)

    def _bugs(self) -> Iterator[str]:
        bugs = [finding for finding in self.listed.findings if finding.id in BUGS]
        if bugs and not self.every:
            ids = ", ".join(sorted({finding.id for finding in bugs}))
            what, them = ("bug", "it") if len(bugs) == 1 else ("bugs", "them")
            text = f"{len(bugs)} {what} of this HBase version: {ids}; --all lists {them}"
            yield self._filled(text, hanging="  ")

    def _totals(self) -> str:
        counts = Counter(finding.severity for finding in self.report.findings)
        numbers = ", ".join(
            f"{counts[severity]} {name}{'s' * (counts[severity] != 1 and severity is not Severity.INFO)}"
            for severity, name in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
        )
        gaps = len(unfilled(self.report))
        missing = f"; {gaps} {_values(gaps)} still to be filled in" if gaps else ""
        hidden = len(self.report.findings) - len(self.listed.findings)
        return self._filled(f"{numbers}{missing}{f'; {hidden} of them not shown' if hidden else ''}")

    def _finding(self, finding: LintFinding) -> str:
        where = f"line {finding.line}" if finding.line else ""
        what = " ".join(filter(None, (finding.classification, finding.property)))
        marked = "an override" if finding.overridden else ""
        severity = click.style(finding.severity.value, fg=COLOURS[finding.severity])
        head = "  ".join(filter(None, (f"{finding.id} {severity}", where, self._short(what), marked)))
        value = f"is {self._short(finding.value)}" if finding.value is not None else ""
        reason = "" if finding.severity is Severity.INFO else f"because {finding.because}"
        lines = (value, finding.message, reason, fix_line(finding.fix))
        return "\n".join([head, *(self._filled(line, indent="  ", hanging="  ") for line in lines if line)])

    def _short(self, value: str) -> str:
        """Return the value in one line, without characters that a terminal would take for a command."""
        plain, most = printable(value), max(self.columns - SHORT_OF_LINE, SHORT_OF_LINE)
        return plain if len(plain) <= most else f"{plain[: most - 3]}..."

    def _filled(self, text: str, indent: str = "", hanging: str = "") -> str:
        """Return the text in lines; a name or path is broken only where it is longer than a line."""
        return fill(
            printable(text), self.columns, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False
        )


def unfilled(report: Report) -> Sequence[LintFinding]:
    """Return the findings about placeholders that a person still has to fill in."""
    return [
        finding
        for finding in report.findings
        if finding.id == "WB106" and finding.consequence is Consequence.WILL_NOT_START
    ]


def _badness(finding: LintFinding) -> tuple[int, int, int]:
    return list(Consequence).index(finding.consequence), GRAVITY[finding.severity], finding.line or 0


def _in_short(finding: LintFinding) -> str:
    place = f"{finding.id}, line {finding.line}" if finding.line else finding.id
    return f"{finding.consequence.value.capitalize()}: {finding.message} ({place})"


def _values(count: int) -> str:
    return "value" if count == 1 else "values"


def _bold(title: str) -> str:
    return click.style(title, bold=True)
