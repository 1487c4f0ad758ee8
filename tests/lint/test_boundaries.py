"""Values on both sides of the limits of rules about the cache, and the corrections that a program may apply."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.lint.examples import File
from warmbase.linter.finding import Consequence, LintFinding, Severity
from warmbase.linter.lint import lint

ENGINE, SIZE = "hbase.bucketcache.ioengine", "hbase.bucketcache.size"
SLOTS = "hbase.bucketcache.bucket.sizes"
TWO, THREE = "files:/mnt1/a,/mnt2/b", "files:/mnt1/a,/mnt2/b,/mnt3/c"
FAST: dict[str, Any] = {"SizeInGB": 600, "Throughput": 125}


def two(size_mib: int, **volume: Any) -> File:
    return File({ENGINE: TWO, SIZE: str(size_mib)}, volumes=2, volume={"Throughput": 125, **volume})


@pytest.mark.parametrize(
    ("rule", "file", "says", "correction"),
    [
        ("WB202", File({SLOTS: "0,66560,532480"}), "0 is not a size", None),
        (
            "WB202",
            File({SLOTS: "66561,532480"}),
            "66,561 is not a multiple of 256; the next multiple is 66,816",
            "66816,532480",
        ),
        ("WB203", File({SLOTS: "9216,66560,532480"}), None, None),
        ("WB203", File({SLOTS: "9216,65536"}), "the largest slot has 65,536 bytes and a block takes 65,590", None),
        ("WB204", File({SIZE: "4"}), "need a bucket of 2,129,920 bytes each, 5 MiB in all", None),
        ("WB204", File({SIZE: "5"}), None, None),
        ("WB211", two(512_001), "512,001 MiB cannot be divided evenly over 2 files", "512000"),
        (
            "WB211",
            File({ENGINE: THREE, SIZE: "512003"}, volumes=3, volume={"Throughput": 125}),
            "512,003 MiB cannot be divided evenly over 3 files",
            "512001",
        ),
        ("WB212", two(512_000, Iops=20_000), "2 files fill one after the other", None),
        ("WB212", two(512_000, Iops=20_001), None, None),
        ("WB212", two(512_000, Throughput=500), "2 files fill one after the other", None),
        ("WB212", two(512_000, Throughput=501), None, None),
        ("WB213", File(volume={"SizeInGB": 300}, volumes=2), "does not fit: the largest volume has 300 GiB", None),
        ("WB213", two(512_000, SizeInGB=300), None, None),
        ("WB213", two(512_000, SizeInGB=249), "does not fit", None),
        ("WB228", File({"hbase.server.keyvalue.maxsize": "10485760"}), None, None),
        ("WB228", File({"hbase.server.keyvalue.maxsize": "10485761"}), "cells of up to 10,485,761 bytes", None),
        ("WB228", File({"hbase.server.keyvalue.maxsize": "0"}), "cells of any length", None),
    ],
)
def test_a_rule_speaks_beyond_its_limit_only(
    rule: str, file: File, says: str | None, correction: str | None, tmp_path: Path
) -> None:
    findings = [finding for finding in lint(file.subject(tmp_path)).findings if finding.id == rule]
    assert [says in finding.message for finding in findings if says] == ([True] if says else [])
    assert len(findings) == (says is not None)
    assert [finding.edit and finding.edit.text for finding in findings] == ([correction] if says else [])


def finding(rule: str, severity: Severity, value: str | None = "1") -> LintFinding:
    return LintFinding(
        id=rule,
        severity=severity,
        classification="hbase-site",
        property="a.key",
        value=value,
        message="",
        because="",
        fix="",
        line=1,
        consequence=Consequence.IGNORED,
    )


@pytest.mark.parametrize(
    ("specific", "shown"),
    [
        (finding("WB999", Severity.ERROR), ["WB999"]),
        (finding("WB999", Severity.WARNING), ["WB103", "WB999"]),
        (finding("WB999", Severity.INFO), ["WB103", "WB999"]),
        (finding("WB999", Severity.ERROR, None), ["WB103", "WB999"]),
    ],
)
def test_only_an_error_about_the_same_value_replaces_a_general_finding(
    specific: LintFinding, shown: list[str], tmp_path: Path
) -> None:
    rule: Any = SimpleNamespace(findings=lambda _: [finding("WB103", Severity.WARNING), specific])
    report = lint(File().subject(tmp_path), [rule])
    assert sorted(one.id for one in report.findings) == shown
