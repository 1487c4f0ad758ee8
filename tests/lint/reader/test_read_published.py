"""The launch command of the AWS Big Data Blog, exactly as published."""

from __future__ import annotations

from pathlib import Path

import pytest

from warmbase.emr.cluster_spec import EbsVolume
from warmbase.linter.reader import read_subject

RECIPE = Path(__file__).parents[3] / "docs/published-recipe.sh"
SUBJECT = read_subject(RECIPE, None)

LINES = [
    ("hbase", "hbase.emr.storageMode", "s3", 20),
    ("hbase-env/export", "HBASE_HEAPSIZE", "<your-jvm-heap-size>", 29),
    ("hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS", '"-XX:+UseZGC -XX:+ZGenerational -XX:+AlwaysPreTouch"', 30),
    ("hbase-env/export", "HBASE_REGIONSERVER_OPTS", '"-Xmx<YOUR-JVM-HEAP-SIZE>m"', 31),
    ("hbase-site", "hbase.rootdir", "<your-hbase-rootdir>", 39),
    ("hbase-site", "hbase.bucketcache.size", "<your-bucket-cache-size-per-region-server>", 40),
    ("hbase-site", "hbase.bucketcache.persistent.path", "/mnt/hbase/persistent_cache", 43),
    ("hbase-site", "hbase.block.data.cachecompressed", "true", 49),
    ("emr-metrics/emr-hbase-region-server-metrics", "otel.metric.export.interval", "30000", 58),
]


@pytest.mark.parametrize(("classification", "key", "value", "line"), LINES)
def test_every_setting_has_its_line(classification: str, key: str, value: str, line: int) -> None:
    setting = SUBJECT.settings[classification, key]
    assert (setting.value, setting.line) == (value, line)
    assert f'"{key}"' in RECIPE.read_text(encoding="utf-8").splitlines()[line - 1]


def test_placeholders_are_gaps() -> None:
    gaps = {setting.key for setting in SUBJECT.settings.values() if setting.is_placeholder}
    assert "hbase.bucketcache.size" in gaps
    assert "hbase.rs.prefetchblocksonopen" not in gaps


def test_the_cluster_is_read() -> None:
    assert SUBJECT.release_label == "emr-7.12.0"
    assert SUBJECT.applications == ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
    assert (SUBJECT.key_pair, SUBJECT.fleets, SUBJECT.managed_scaling, SUBJECT.only) == (10, None, None, None)
    assert SUBJECT.classifications["hbase-env"] == 24
    assert SUBJECT.twice == ()


def test_groups_have_their_volumes() -> None:
    core, primary = SUBJECT.groups
    assert (core.role, core.instance_type, core.count, core.line) == ("core", "r8g.2xlarge", 6, 63)
    assert (primary.role, primary.count, primary.line) == ("primary", 1, 78)
    assert core.volumes == (EbsVolume(type="gp3", size_gib=None, iops=3000, throughput_mib_s=None, line=70),)
    assert (primary.volumes[0].size_gib, primary.volumes[0].count) == (64, 2)


def test_another_release_wins_over_the_one_in_the_file() -> None:
    same, other = read_subject(RECIPE, "emr-7.12.0"), read_subject(RECIPE, "emr-7.3.0")
    assert (same.release_label, same.replaced_label) == ("emr-7.12.0", None)
    assert (other.release_label, other.replaced_label) == ("emr-7.3.0", "emr-7.12.0")
