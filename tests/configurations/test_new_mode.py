"""A storage mode is one object: modes of the tests' own are planned, rendered, linted and drawn."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final, get_args

import pytest
from msgspec.structs import replace

from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import Launch, classifications, planned_spec
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.dashboards.boards import boards
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.environment import Root
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.schema import Storage
from warmbase.linter.lint import lint
from warmbase.reports.json_text import plain
from warmbase.sizing.modes import HDFS, MODES, S3_CACHED, Mode

READ_THROUGH: Final = Mode(
    name="s3-read-through",
    title="HBase of a new kind",
    summary="data in S3; a cache that only reads fill",
    keeps_data_in_s3=True,
    data_volume="cache",
    data_copies=1,
    min_core_nodes=2,
    dashboards=("cache", "nodes"),
    composite_alarms=("servers", "cache"),
    teardown=("disable-tables", "flush-meta", "stop-hbase", "check-log"),
)
TWO_COPIES: Final = Mode(
    name="hdfs-two-copies",
    title="HBase of a new kind",
    summary="data on the nodes' disks, two copies",
    keeps_data_in_s3=False,
    data_volume="data",
    data_copies=2,
    min_core_nodes=2,
    dashboards=("nodes",),
    composite_alarms=("servers",),
    teardown=("find-exports", "disable-tables", "verify-exports"),
)
ROOT: Final = Root(bucket="bucket", prefix="hbase")


def launch_of_mode(mode: Mode) -> Launch:
    environment = replace(read_environment("prod"), mode=mode)
    plan = plan_of(environment, environment.active)
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))


@pytest.mark.parametrize(("mode", "like"), [(READ_THROUGH, S3_CACHED), (TWO_COPIES, HDFS)], ids=str)
def test_a_new_mode_is_one_object(mode: Mode, like: Mode) -> None:
    launch, other = launch_of_mode(mode), launch_of_mode(like)
    plan = launch.plan
    assert (plain(plan)["mode"], str(plan.mode)) == (mode.name, mode.name)
    assert (plan.bucket_cache is not None) is mode.has_bucket_cache
    assert {volume.purpose for volume in plan.core.volumes} == {mode.data_volume, "system"}
    assert [action.name for action in actions(launch)] == [action.name for action in actions(other)]
    keys, other_keys = ({(path, key) for path, key, _ in flattened(one.settings.core)} for one in (launch, other))
    assert keys == other_keys
    assert not [finding for finding in lint(planned_spec(launch)).findings if finding.severity == "error"]
    name = f"warmbase-{launch.environment.name}-{plan.cluster}"
    assert list(boards(plan, ROOT)) == [f"{name}-{board}" for board in mode.dashboards]
    assert {alarm.name for alarm in alarms(plan, ROOT)} == {alarm.name for alarm in alarms(other.plan, ROOT)}
    causes = [alarm.name for alarm in composite_alarms(plan, ROOT)]
    assert causes == [f"{name}-call-{cause}" for cause in mode.composite_alarms]


def test_the_copies_of_a_mode_size_its_volumes_and_hdfs() -> None:
    two, three = launch_of_mode(TWO_COPIES).plan, launch_of_mode(HDFS).plan

    def data_gib(launch_plan: object) -> int:
        core = launch_plan.core  # type: ignore[attr-defined]
        return int(core.count * core.volume("data").count * core.volume("data").size_gib)

    assert (two.hdfs_replication, three.hdfs_replication) == (2, 3)
    assert data_gib(two) < data_gib(three)


def test_the_environment_file_knows_every_mode() -> None:
    assert get_args(Storage.model_fields["mode"].annotation) == tuple(MODES)


SOURCE: Final = Path(__file__).parents[2]
ROOMS: Final = ("sizing", "environments", "configurations", "dashboards", "changes", "stacks", "operations", "cli")
OBJECTS: Final = frozenset({"S3_CACHED", "S3_PLAIN", "HDFS"})


def compares_modes(file: Path) -> bool:
    """Return whether a module compares something with a mode's object or name."""
    operands = [
        operand
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        for operand in (node.left, *node.comparators)
    ]
    return any(
        (isinstance(operand, ast.Name) and operand.id in OBJECTS)
        or (isinstance(operand, ast.Constant) and operand.value in MODES)
        for operand in operands
    )


def test_no_room_compares_a_mode_with_one_by_name() -> None:
    """Lint does: it reads the storage mode of configurations that warmbase has not planned."""
    sources = [file for room in ROOMS for file in (SOURCE / room).rglob("*.py")]
    assert sources
    assert [str(file.relative_to(SOURCE)) for file in sources if compares_modes(file)] == []
