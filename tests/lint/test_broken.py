"""Three files as strangers write them, with every finding about each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

BROKEN = Path(__file__).parent / "broken"
RELEASE = "emr-7.12.0"

FILES = ("old-share-of-heap.xml", "two-collectors.json", "launch.sh")


@pytest.mark.parametrize("name", FILES)
def test_every_fault_is_reported_in_its_line(name: str, golden: Callable[[str, str], None]) -> None:
    """A finding without a line is about a setting that the file lacks."""
    findings = lint(read_subject(BROKEN / name, RELEASE)).findings
    severities = list(Severity)
    reported = {(severities.index(finding.severity), finding.line or 0, finding.id) for finding in findings}
    lines = (f"{severities[severity]} {id_} {line or '-'}\n" for severity, line, id_ in sorted(reported))
    golden(f"lint/{name}.txt", "".join(lines))


@pytest.mark.parametrize("name", FILES)
def test_a_finding_stands_in_the_line_that_it_names(name: str) -> None:
    lines = (BROKEN / name).read_text(encoding="utf-8").splitlines()
    for finding in lint(read_subject(BROKEN / name, RELEASE)).findings:
        if finding.value is not None:
            assert finding.line is not None
            assert finding.property in lines[finding.line - 1]
