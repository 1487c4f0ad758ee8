"""The catalogue: consistent in itself, with the jars, and with what is rendered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.configurations.variants import VARIANTS, kerberos_launch, small_cache_launch, variant_launch
from warmbase.configurations.metrics import METRICS, OF_AGENT, MetricSource
from warmbase.configurations.properties import CATALOGUE, ORDER, RENDERED, TOPICS, HBaseProperty
from warmbase.configurations.properties.property import (
    LONG,
    Applied,
    Decimal,
    ListOf,
    Matching,
    OneOf,
    Switch,
    Values,
    Whole,
    number,
)
from warmbase.emr.cluster_spec import flattened
from warmbase.facts.keys import hadoop_keys, hbase_keys
from warmbase.facts.releases import releases
from warmbase.ground.release import Version
from warmbase.sizing.explanation import Explanations
from warmbase.sizing.modes import HDFS

PROPERTIES = list(CATALOGUE.values())
OF_SITES = [
    entry for entry in PROPERTIES if entry.classification in {"hbase-site", "hdfs-site", "yarn-site", "core-site"}
]


def name(entry: HBaseProperty) -> str:
    return f"{entry.classification}:{entry.key}"


def test_no_property_is_listed_twice() -> None:
    assert len(CATALOGUE) == sum(len(topic) for topic in TOPICS.values())


@pytest.mark.parametrize("entry", PROPERTIES, ids=name)
def test_every_property_has_groups_reason_source_and_values(entry: HBaseProperty) -> None:
    assert entry.groups
    assert entry.reason
    assert not entry.reason.endswith(".")
    assert entry.source
    assert str(entry.values)


@pytest.mark.parametrize("entry", OF_SITES, ids=name)
def test_versions_are_those_whose_jars_have_the_key(entry: HBaseProperty) -> None:
    """Keys that the tables lack are skipped: EMR's own, and those of HBase 2.6.5 on, are in none of the releases."""
    for release in releases().values():
        hbase, hadoop = hbase_keys().get(entry.key), hadoop_keys().get(entry.key)
        if hbase is None and hadoop is None:
            continue
        in_jars = bool(hbase and hbase.exists_in(release.hbase)) or bool(hadoop and hadoop.exists_in(release.hadoop))
        assert entry.exists_in(release) == in_jars, release.label


READ: tuple[Version, ...] = ((1, 4, 14), (2, 4, 17), (2, 6, 1), (2, 6, 2), (2, 6, 4), (2, 6, 6))
"""Versions whose jars were read, in the order in which branches left one another; 2.5.13 has younger backports."""


@pytest.mark.parametrize(
    "entry", [entry for entry in OF_SITES if entry.key in hbase_keys() and entry.key not in hadoop_keys()], ids=name
)
def test_versions_are_those_of_older_and_newer_jars_too(entry: HBaseProperty) -> None:
    for version in READ:
        assert entry.hbase.holds(version) == hbase_keys()[entry.key].exists_in(version), version


@pytest.mark.parametrize("entry", OF_SITES, ids=name)
def test_what_hbase_takes_by_default_is_valid(entry: HBaseProperty) -> None:
    """HBase's own default passes the catalogue's bounds, where it states a plain one."""
    for release in releases().values():
        for keys, version in ((hbase_keys(), release.hbase), (hadoop_keys(), release.hadoop)):
            default = keys[entry.key].default_in(version) if entry.key in keys else None
            if default and "$" not in default and entry.key not in DEFAULT_MEANS_UNSET and entry.exists_in(release):
                assert entry.values.refusal(default.rstrip("LFf") if number(default[:-1]) else default) is None


# Defaults that say "not set": zero sizes, empty names, and a path relative to something.
DEFAULT_MEANS_UNSET = {"hbase.bucketcache.size", "dfs.datanode.data.dir", "hbase.rootdir", "fs.s3a.buffer.dir"}


def explanations() -> Explanations:
    """The explanations of a plan with a cache, and of one with the data in HDFS."""
    stored_in_hdfs = next(variant for variant in VARIANTS if variant.mode is HDFS)
    return {**variant_launch(stored_in_hdfs).plan.because, **variant_launch(VARIANTS[0]).plan.because}


@pytest.mark.parametrize("entry", [entry for entry in PROPERTIES if entry.figure], ids=name)
def test_the_plan_explains_every_figure(entry: HBaseProperty) -> None:
    assert entry.figure in explanations()


@pytest.mark.parametrize(
    "labels", [[*releases()][:: len(releases()) - 1], pytest.param([*releases()], marks=pytest.mark.thorough)]
)
def test_is_rendered_holds_for_properties_of_some_cluster_and_no_other(labels: list[str]) -> None:
    launches = [variant_launch(variant, label) for variant in VARIANTS for label in labels]
    levels = [level for launch in (*launches, small_cache_launch(), kerberos_launch()) for level in launch.settings]
    rendered = {(path, key) for level in levels for path, key, _ in flattened(level)}
    assert {(entry.classification, entry.key) for entry in RENDERED} == rendered


def test_the_order_names_each_key_once_and_no_key_that_is_not_rendered() -> None:
    assert len(set(ORDER)) == len(ORDER)
    assert set(ORDER) <= {entry.key for entry in RENDERED}


def test_a_property_publishes_each_metric_of_the_agent() -> None:
    for metric in METRICS:
        if metric.source is MetricSource.SYSTEM:
            assert (f"emr-metrics/{metric.source}/{metric.bean}", "metrics") in CATALOGUE
        elif metric.source in OF_AGENT:
            assert (f"emr-metrics/{metric.source}", metric.bean) in CATALOGUE


VALUES: list[tuple[Values, str, bool]] = [
    (Whole(least=1), "1", True),
    (Whole(least=1), " 1 ", True),
    (Whole(least=1), "0", False),
    (Whole(least=1), "1.5", False),
    (Whole(least=1), "1,000", False),
    (Whole(least=1), "1e3", False),
    (Whole(least=1), "0x10", True),
    (Whole(), "2147483647", True),
    (Whole(), "2147483648", False),
    (Whole(most=LONG), "9223372036854775807", True),
    (Whole(most=LONG), "9223372036854775808", False),
    (Whole(least=1), "", False),
    (Whole(least=1, multiple_of=256), "512", True),
    (Whole(least=1, multiple_of=256), "500", False),
    (Decimal(most=1.0, above=0.0), "0.5", True),
    (Decimal(most=1.0, above=0.0), "0", False),
    (Decimal(most=1.0, above=0.0), "1.01", False),
    (Decimal(), "nan", False),
    (Decimal(), "1e3", True),
    (Switch(), "TRUE", True),
    (Switch(), "yes", False),
    (OneOf(names=("fifo", "codel")), "fifo", True),
    (OneOf(names=("fifo", "codel")), "FIFO", False),
    (OneOf(names=("LRU",), any_case=True), "lru", True),
    (OneOf(names=("a.B",), others=True), "com.example.Own", True),
    (Matching(form=r"/.+", described="a whole path"), "/mnt", True),
    (Matching(form=r"/.+", described="a whole path"), "mnt", False),
    (ListOf(member=Whole(least=1)), "1, 2", True),
    (ListOf(member=Whole(least=1)), "1,,2", False),
    (ListOf(member=Whole(least=1)), "", False),
]


@pytest.mark.parametrize(("values", "text", "valid"), VALUES)
def test_a_kind_of_value_accepts_valid_text_alone(values: Values, text: str, valid: object) -> None:
    assert (values.refusal(text) is None) == valid


@given(st.integers(min_value=-(10**12), max_value=10**12), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_whole_number_is_valid_within_its_bounds_alone(value: int, least: int, more: int) -> None:
    is_valid = Whole(least=least, most=least + more).refusal(str(value)) is None
    assert is_valid == (least <= value <= least + more)


@given(st.text(max_size=40))
def test_no_text_breaks_a_check(text: str) -> None:
    for entry in PROPERTIES:
        entry.values.refusal(text)


@pytest.mark.parametrize(("label", "applied"), [("emr-7.12.0", Applied.ROLLING_RESTART), ("emr-7.13.0", Applied.LIVE)])
@pytest.mark.parametrize("key", ["acceptfactor", "multi.factor", "queue.addition.waittime"])
def test_factors_of_the_cache_are_read_again_from_hbase_2_6_3_on(key: str, label: str, applied: Applied) -> None:
    """HBASE-29249. The older release of these has HBase 2.6.2, where only a restart applies them."""
    assert CATALOGUE["hbase-site", f"hbase.bucketcache.{key}"].applied_in(releases()[label]) is applied
