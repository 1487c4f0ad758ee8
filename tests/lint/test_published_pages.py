"""Configurations that AWS publishes, linted for the releases with which people would use them.

The first page is the guide to migrating HBase in GitHub aws/aws-emr-best-practices at d5f6db7 (2026-08-19),
website/docs/migration/ad-hoc-query/hbase-workloads.md: what it tells to set for bulk loads and their logs.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

MIGRATION_GUIDE = [
    {"Classification": "core-site", "Properties": {"fs.s3.threadpool.size": "40"}},
    {"Classification": "hbase-site", "Properties": {"hbase.rpc.timeout": "600000"}},
    {
        "Classification": "hbase-log4j",
        "Properties": {"log4j.logger.org.apache.hadoop.hbase.mapreduce.LoadIncrementalHFiles": "DEBUG"},
    },
]
S3A = "fs.s3a.threads.max with S3A"


def findings(tmp_path: Path, release: str) -> dict[str, str]:
    """Return the fix of each error by its rule."""
    file = tmp_path / "guide.json"
    file.write_text(json.dumps(MIGRATION_GUIDE))
    report = lint(read_subject(file, release=release))
    return {finding.id: finding.fix for finding in report.findings if finding.severity.value == "error"}


@pytest.mark.parametrize("release", ["emr-7.9.0", "emr-7.12.0", "emr-7.14.0"])
def test_the_migration_guide_is_corrected(release: str, tmp_path: Path) -> None:
    errors = findings(tmp_path, release)
    assert set(errors) == {"WB102", "WB108"}
    assert S3A in errors["WB102"]
    assert "hbase-log4j2" in errors["WB108"]


def test_its_log_settings_were_right_before_7_9(tmp_path: Path) -> None:
    assert set(findings(tmp_path, "emr-7.8.0")) == {"WB102"}
