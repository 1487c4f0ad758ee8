"""Classifications: the table is whole, sorted, and nests only in what it lists."""

from __future__ import annotations

import re

import pytest

from warmbase.facts import provenance, rows
from warmbase.facts.keys import emr_keys
from warmbase.facts.releases import classifications

ROWS = tuple(rows("classifications.csv"))
METRICS = "emr-metrics"


def test_table_is_sorted_and_says_where_it_is_from() -> None:
    paths = [row["classification"] for row in ROWS]
    assert paths == sorted(set(paths))
    assert "captured 20" in provenance("classifications.csv")[0]
    assert all(row["page"] for row in ROWS)


@pytest.mark.parametrize("column", ["since", "until"])
def test_a_release_is_a_label(column: str) -> None:
    assert all(re.fullmatch(r"(emr-\d+\.\d+\.\d+)?", row[column]) for row in ROWS)


def test_what_nests_nests_in_what_is_listed() -> None:
    for path in classifications():
        outer, slash, _ = path.rpartition("/")
        assert not slash or outer in classifications()


def test_every_environment_takes_export_inside() -> None:
    environments = {path for path in classifications() if path.endswith("-env")}
    assert {path.removesuffix("/export") for path in classifications() if path.endswith("/export")} == environments
    assert "hbase-env/export" in classifications()


@pytest.mark.parametrize("kind", ["cpu", "disk", "diskio", "mem", "net", "netstat", "processes", "swap"])
def test_every_kind_of_system_metric_has_a_block(kind: str) -> None:
    assert f"{METRICS}/emr-system-metrics/{kind}" in classifications()


def test_every_classification_with_a_key_of_emr_is_listed() -> None:
    names = {path.rpartition("/")[2] for path in classifications()}
    assert {name for key in emr_keys().values() for name in key.classifications} <= names


@pytest.mark.parametrize("other", ["zoo.cfg", "export", "hbase-log4j3", "emr-metrics/cpu"])
def test_what_is_no_classification_is_not_listed(other: str) -> None:
    assert other not in classifications()
