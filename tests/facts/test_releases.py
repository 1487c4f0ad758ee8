"""Releases: the table is ordered, and names that code repeats from it by hand are still true."""

from __future__ import annotations

from pathlib import Path

from configurations.metrics import NEWEST_CHECKED
from facts.releases import releases
from facts.table import provenance
from lint.release_of import EXAMPLE
from sizing.release import parse_version

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
    text = (PROJECT / "sizing/warning.py").read_text(encoding="utf-8")
    background = any(release.index_restored_in_background for release in releases().values())
    assert ("no EMR release yet" in text) is not background


def test_the_example_of_a_label_exists() -> None:
    assert EXAMPLE in releases()
