"""Three files as strangers write them, with every finding about each."""

from __future__ import annotations

from pathlib import Path

import pytest

from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

BROKEN = Path(__file__).parent / "broken"
RELEASE = "emr-7.12.0"

# Errors, warnings and info by line; None stands for a setting that the file lacks.
FINDINGS: dict[str, dict[Severity, list[tuple[str, int | None]]]] = {
    "old-share-of-heap.xml": {
        Severity.ERROR: [
            ("WB210", 11),
            ("WB201", 15),
            ("WB102", 19),
            ("WB202", 27),
            ("WB102", 32),
            ("WB206", 38),
            ("WB209", 55),
            ("WB101", 68),
        ],
        Severity.WARNING: [
            ("WB221", None),
            ("WB501", None),
            ("WB605", None),
            ("WB603", 5),
            ("WB222", 23),
            ("WB103", 72),
        ],
        Severity.INFO: [
            ("WB506", None),
            ("WB508", None),
            ("WB509", None),
            ("WB513", None),
            ("WB514", None),
            ("WB515", None),
            ("WB516", None),
            ("WB614", None),
            ("WB608", 5),
            ("WB111", 55),
            ("WB111", 59),
        ],
    },
    "two-collectors.json": {
        Severity.ERROR: [
            ("WB101", 14),
            ("WB102", 18),
            ("WB901", 24),
            ("WB901", 25),
            ("WB401", 36),
            ("WB403", 37),
            ("WB406", 37),
            ("WB108", 43),
            ("WB801", 53),
        ],
        Severity.WARNING: [
            ("WB218", None),
            ("WB304", None),
            ("WB310", None),
            ("WB501", None),
            ("WB613", None),
            ("WB711", None),
            ("WB407", 36),
            ("WB404", 37),
            ("WB803", 59),
        ],
        Severity.INFO: [
            ("WB217", None),
            ("WB502", None),
            ("WB503", None),
            ("WB504", None),
            ("WB505", None),
            ("WB506", None),
            ("WB508", None),
            ("WB512", None),
            ("WB514", None),
            ("WB515", None),
            ("WB516", None),
            ("WB614", None),
            ("WB608", 11),
            ("WB314", 15),
            ("WB804", 60),
        ],
    },
    "launch.sh": {
        Severity.ERROR: [
            ("WB307", None),
            ("WB701", 11),
            ("WB705", 25),
            ("WB213", 47),
            ("WB408", 63),
            ("WB601", 70),
            ("WB612", 78),
        ],
        Severity.WARNING: [
            ("WB304", None),
            ("WB305", None),
            ("WB312", None),
            ("WB501", None),
            ("WB605", None),
            ("WB613", None),
            ("WB702", 25),
            ("WB306", 50),
            ("WB405", 62),
            ("WB404", 63),
            ("WB409", 63),
            ("WB411", 63),
        ],
        Severity.INFO: [
            ("WB502", None),
            ("WB503", None),
            ("WB506", None),
            ("WB508", None),
            ("WB512", None),
            ("WB514", None),
            ("WB515", None),
            ("WB516", None),
            ("WB614", None),
            ("WB712", 10),
            ("WB714", 13),
            ("WB608", 45),
            ("WB314", 49),
            ("WB410", 63),
        ],
    },
}


@pytest.mark.parametrize("name", FINDINGS)
def test_every_fault_is_reported_in_its_line(name: str) -> None:
    report = lint(read_subject(BROKEN / name, RELEASE))
    for severity, expected in FINDINGS[name].items():
        lines = {(finding.id, finding.line) for finding in report.of(severity)}
        assert sorted(lines, key=by_line) == expected


def by_line(rule_and_line: tuple[str, int | None]) -> tuple[int, str]:
    return rule_and_line[1] or 0, rule_and_line[0]


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_stands_in_the_line_that_it_names(name: str) -> None:
    lines = (BROKEN / name).read_text(encoding="utf-8").splitlines()
    for finding in lint(read_subject(BROKEN / name, RELEASE)).findings:
        if finding.value is not None:
            assert finding.line is not None
            assert finding.property in lines[finding.line - 1]
