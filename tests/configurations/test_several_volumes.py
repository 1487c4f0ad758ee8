"""A cache on several volumes is rendered, mounted, guarded and linted, and one volume is rendered as before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import Launch, launch_of, planned_spec
from warmbase.configurations.node_files import site_properties
from warmbase.dashboards.alarms import alarms
from warmbase.environments.reader import read_environment
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint

TEXT = """
name: several
region: us-east-1
release: emr-7.14.0
network: {availability_zone: us-east-1a}
workload:
  {stored: 6 TiB, block_size: 64 KiB, cell: 1 KiB, row: 10 KiB, reads: {per_second: 400}, regions: 400}
targets: {hit_ratio: 0.5, lost_nodes: 0}
clusters:
  blue:
    primaries: 1
    core:
      type: r8g.4xlarge
      count: 3
      volumes: [{purpose: cache, count: COUNT, size: 700 GiB, throughput: 300 MiB/s}, {purpose: system, size: 64 GiB}]
"""


def launch(count: int, folder: Path) -> Launch:
    file = folder / "several.yaml"
    file.write_text(TEXT.replace("COUNT", str(count)))
    environment = read_environment(str(file))
    return launch_of(environment, environment.active)


def arguments(blue: Launch) -> Mapping[str, tuple[str, ...]]:
    return {action.name: action.arguments for action in actions(blue)}


def test_each_volume_has_a_file_and_the_first_one_the_index(tmp_path: Path) -> None:
    blue = launch(3, tmp_path)
    site = site_properties(blue.settings.effective("core"))
    files = ",".join(f"/warmbase/{volume}/bucketcache/blocks" for volume in ("cache", "cache-2", "cache-3"))
    assert site["hbase.bucketcache.ioengine"] == f"files:{files}"
    assert site["hbase.bucketcache.persistent.path"] == "/warmbase/cache/index/bucketcache.index"
    size_gib = int(site["hbase.bucketcache.size"]) / 1024
    assert 3 * 0.9 * 700 < size_gib < 3 * 0.95 * 700
    assert "--cache-volumes=3" in arguments(blue)["mount-volumes"]
    assert f"--cache-file={files}" in arguments(blue)["guard-regionserver"]
    [_, core] = planned_spec(blue).groups
    assert [(volume.count, volume.size_gib) for volume in core.volumes] == [(1, 64), (3, 700)]


def test_one_volume_is_rendered_as_ever(tmp_path: Path) -> None:
    blue = launch(1, tmp_path)
    site = site_properties(blue.settings.effective("core"))
    assert site["hbase.bucketcache.ioengine"] == "files:/warmbase/cache/bucketcache/blocks"
    assert arguments(blue)["mount-volumes"] == ("--cache-volume-gib=700", "--system-volume-gib=64")
    assert "--cache-file=/warmbase/cache/bucketcache/blocks" in arguments(blue)["guard-regionserver"]


@pytest.mark.parametrize("count", [2, 3])
def test_its_own_lint_has_nothing_against_several_volumes(count: int, tmp_path: Path) -> None:
    report = lint(planned_spec(launch(count, tmp_path)))
    assert not report.of(Severity.ERROR)
    assert not {"WB211", "WB212", "WB702", "WB703"} & {finding.id for finding in report.of(Severity.WARNING)}


def test_the_alarm_on_a_full_disk_knows_the_fullest_volume(tmp_path: Path) -> None:
    blue = launch(3, tmp_path)
    [full] = [alarm for alarm in alarms(blue.plan, blue.environment.root) if alarm.name.endswith("disk-full")]
    plan, volume = blue.plan, blue.plan.core.volume("cache")
    used = (plan.cache.size_bytes / 3 + plan.persistence.file_bytes) / volume.size_bytes
    assert 0.85 < used < 1
    assert f"{used:.3f}" in full.description
