"""Releases: the table is ordered, and names that code repeats from it by hand are still true."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from warmbase.configurations.metrics import NEWEST_CHECKED
from warmbase.facts import provenance
from warmbase.facts.releases import EXAMPLE, improvements_since, newest_release, releases, unknown_release
from warmbase.ground.release import parse_version

PROJECT = Path(__file__).parents[2]


def test_releases_ascend_and_the_table_names_its_source() -> None:
    numbers = [release.emr for release in releases().values()]
    assert numbers == sorted(set(numbers))
    assert "Release Guide" in provenance("releases.csv")[0]


def test_metrics_were_read_in_the_newest_hbase() -> None:
    """A release with a newer HBase needs a look at its metrics: docs/add-a-release.md."""
    assert max(release.hbase for release in releases().values()) <= parse_version(NEWEST_CHECKED)


def test_the_warning_about_slow_restarts_is_still_true() -> None:
    """It says that no EMR release restores the index in the background yet: docs/add-a-release.md."""
    text = (PROJECT / "warmbase/sizing/warning.py").read_text(encoding="utf-8")
    background = any(release.index_restored_in_background for release in releases().values())
    assert ("no EMR release yet" in text) is not background


def test_the_example_of_a_label_exists() -> None:
    assert EXAMPLE in releases()


def test_support_ends_later_with_each_release() -> None:
    """A release whose page was not read has the date of the next one, so the warning is never early."""
    days = [release.support_until for release in releases().values() if release.support_until]
    assert len(days) == len(releases())
    assert days == sorted(days)
    assert releases()["emr-7.12.0"].support_until == releases()["emr-7.13.0"].support_until == date(2028, 4, 21)


def test_the_table_says_when_it_was_read() -> None:
    assert re.search(r"\(\d{4}-\d{2}-\d{2}\)$", unknown_release("emr-7.99.0")[0])


def test_improvements_are_those_of_newer_releases() -> None:
    """Every improvement that is listed for the newest release belongs to a release of the table."""
    assert improvements_since(newest_release()) == ()
    labels = [improvement.release for improvement in improvements_since(releases()["emr-7.12.0"])]
    assert labels == ["emr-7.13.0", "emr-7.14.0", "emr-7.14.0"]
    assert not newest_release().read_policy_defect


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("emr-6.15.0", "ships an HBase before 2.6"),
        ("emr-7.99.0", "is newer than"),
        ("emr-8.0.0", "cannot start in the network that warmbase creates"),
        ("emr-8.1.0", "cannot start in the network that warmbase creates"),
        ("emr-9.0.0", "cannot start in the network that warmbase creates"),
        ("emr-spark-8.0.0", "is a runtime for Apache Spark only"),
        ("emr-8", "is not a release label"),
    ],
)
def test_a_release_that_is_not_in_the_table_is_refused_for_its_own_reason(label: str, why: str) -> None:
    """From EMR 8 on, the advice to add the release to the table would lead to a cluster that cannot start."""
    refused, fix = unknown_release(label)
    assert refused.startswith(why)
    assert ("add the release" in fix) == (label == "emr-7.99.0")
