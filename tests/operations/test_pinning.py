"""The record of a cluster that runs, as `warmbase pin` writes it: of each mode, and held against file and services."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import synthesised
from tests.operations.mocked_aws import clients, create
from tests.stacks.recorded import launch_record_of
from warmbase.changes.planned_cluster import legacy_plan, replanned
from warmbase.configurations.launch import launch_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import RecordedPlan, launch_records, write_record
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Drifted, OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.deploy.pinning import check_pinned, pin
from warmbase.stacks.pinned import read_templates

PROJECT = Path(__file__).parents[2]
KEY = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
EXISTING = f"{{root: s3://our-data/hbase/, key: {KEY}}}"
STORAGE = {
    "s3-cached": "{mode: s3-cached}",
    "s3-plain": "{mode: s3-plain}",
    "hdfs": "{mode: hdfs}",
    "emr-wal": "{wal: emr-wal}",
    "existing root": EXISTING,
}


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        yield clients()


def written(directory: Path, storage: str, more: str = "") -> Path:
    file = directory / "dev.yaml"
    text = (PROJECT / "environments/dev.yaml").read_text()
    file.write_text(f"{text}\nstorage: {storage}\n{more}")
    return file


def deployed(aws: Aws, directory: Path, storage: str) -> tuple[Path, Path]:
    """The file, and what was synthesised of it."""
    file = written(directory, storage)
    assembly = synthesised(file.read_text())
    if "our-data" in storage:
        aws.s3.create_bucket(Bucket="our-data")
    create(aws, "dev", assembly, read_templates(assembly))
    return file, assembly


@pytest.fixture
def file(aws: Aws, tmp_path: Path) -> Path:
    """Return the file of a deployed environment in mode s3-cached."""
    return deployed(aws, tmp_path, STORAGE["s3-cached"])[0]


def read(file: Path) -> Environment:
    return read_environment(str(file))


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.thorough
def test_a_cluster_of_each_mode_is_recorded_as_it_was_synthesised(storage: str, aws: Aws, tmp_path: Path) -> None:
    file, assembly = deployed(aws, tmp_path, STORAGE[storage])
    before = launch_of(read(file), read(file).active)
    done = pin(aws, read(file), "blue")
    assert done.confirmed > 15
    assert launch_records(read(file)) == {"blue": done.record}
    assert check_pinned(aws, read(file), "blue").record == done.record
    # The tests of what a record keeps are made with records that are written without services: they are the same.
    made = launch_record_of(file, assembly)
    assert (made.identity, made.resources) == (done.record.identity, done.record.resources)
    assert sorted(made.bootstrap.values()) == sorted(done.record.bootstrap.values())
    # The record has the plan's figures, and those that a record without them would give are the same.
    assert done.record.plan == made.plan == RecordedPlan.of(before.plan)
    assert legacy_plan(done.record) == done.record.plan
    # And the plan of a recorded cluster is the plan of its launch.
    after = replanned(read(file), done.record)
    assert (after.plan.core, after.plan.primary) == (before.plan.core, before.plan.primary)
    assert after.settings == before.settings


def test_a_plan_keeps_the_nodes_that_run_whatever_the_file_asks_for(aws: Aws, file: Path) -> None:
    before = launch_of(read(file), read(file).active).plan
    pin(aws, read(file), "blue")
    file.write_text(file.read_text().replace("emr-7.14.0", "emr-7.13.0").replace("per_second: 200", "per_second: 5000"))
    after = replanned(read(file), launch_records(read(file))["blue"]).plan
    assert after.release == before.release
    assert (after.core.instance_type, after.core.volumes) == (before.core.instance_type, before.core.volumes)
    assert after.cache.size_mib == before.cache.size_mib
    assert after.core.count > before.core.count


def test_a_record_that_is_written_anew_keeps_the_plan_of_the_launch(aws: Aws, file: Path) -> None:
    plan = pin(aws, read(file), "blue").record.plan
    file.write_text(file.read_text().replace("per_second: 200", "per_second: 5000"))
    assert pin(aws, read(file), "blue").record.plan == plan
    shutil.rmtree(file.with_suffix(".launch"))
    assert pin(aws, read(file), "blue").record.plan == plan


def test_a_check_refuses_other_figures_and_accepts_a_record_without_figures(aws: Aws, file: Path) -> None:
    record = pin(aws, read(file), "blue").record
    assert record.plan is not None
    files = {name: record.file(name).read_bytes() for name in record.bootstrap}
    write_record(replace(record, plan=None), files)
    assert check_pinned(aws, read(file), "blue").record == record
    write_record(replace(record, plan=replace(record.plan, cache_mib=1)), files)
    with pytest.raises(Drifted, match="plan: the figures of the record differ from those of the launch"):
        check_pinned(aws, read(file), "blue")


@pytest.mark.parametrize(
    ("deployed_with", "then", "fact"),
    [
        ("{mode: s3-cached}", "{mode: s3-plain}", "mode: expected 's3-plain', EMR has 's3-cached'"),
        ("{mode: s3-cached}", "{mode: hdfs}", "mode: expected 'hdfs', EMR has 's3-cached'"),
        ("{wal: emr-wal}", "{wal: hdfs}", "wal: expected 'hdfs', EMR has 'emr-wal'"),
        (EXISTING, EXISTING.replace("1111", "9999"), "root_key: expected"),
        (EXISTING, EXISTING.replace("hbase/", "other/"), "root: expected 's3://our-data/other/'"),
    ],
)
def test_a_file_that_says_otherwise_by_now_is_not_written_down(
    deployed_with: str, then: str, fact: str, aws: Aws, tmp_path: Path
) -> None:
    deployed(aws, tmp_path, deployed_with)
    file = written(tmp_path, then)
    with pytest.raises(Drifted) as caught:
        pin(aws, read(file), "blue")
    assert fact in str(caught.value)
    assert not file.with_suffix(".launch").exists()


def test_a_network_that_was_there_is_not_written_down_where_one_was_made(aws: Aws, file: Path) -> None:
    named = "{availability_zone: us-east-1a, vpc: vpc-0123456789abcdef0, subnet: subnet-0123456789abcdef0}"
    file.write_text(file.read_text().replace("{availability_zone: us-east-1a}", named))
    with pytest.raises(Drifted, match=r"subnet: expected 'subnet-0123456789abcdef0', EMR has 'new'"):
        pin(aws, read(file), "blue")


def test_a_check_is_the_same_in_every_time_zone_and_once_the_account_is_named(
    aws: Aws, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(aws, read(file), "blue")
    monkeypatch.setitem(os.environ, "TZ", "Asia/Tokyo")
    time.tzset()
    try:
        file.write_text(file.read_text().replace("region:", 'account: "123456789012"\nregion:'))
        check_pinned(aws, read(file), "blue")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_check_names_what_differs(aws: Aws, file: Path) -> None:
    with pytest.raises(Drifted, match=r"there is no record; cluster j-\w+, launched at .*, is running"):
        check_pinned(aws, read(file), "blue")
    stale = launch_record_of(file, synthesised(file.read_text()))
    with pytest.raises(Drifted, match=rf"cluster_id: the record has {stale.cluster_id}, the running cluster j-\w+"):
        check_pinned(aws, read(file), "blue")


def test_a_cluster_that_has_ended_is_cleared_away_by_a_teardown(aws: Aws, file: Path) -> None:
    """A teardown says which data ended with the cluster; removing its stack by hand would not."""
    own = aws.ssm.get_parameter(Name="/warmbase/dev/blue/cluster-id")["Parameter"]["Value"]
    aws.emr.terminate_job_flows(JobFlowIds=[own])
    with pytest.raises(OperationFailed, match=rf"{own}  is TERMINATED\n(.|\n)*fix: .*: warmbase teardown dev blue$"):
        pin(aws, read(file), "blue")


@pytest.mark.parametrize("state", ["STARTING", "BOOTSTRAPPING"])
def test_a_cluster_that_has_not_served_is_not_recorded(
    state: str, aws: Aws, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its launch may still fail, and a record would keep a deployment from ending what is left of it."""
    own = aws.ssm.get_parameter(Name="/warmbase/dev/blue/cluster-id")["Parameter"]["Value"]
    described = aws.emr.describe_cluster(ClusterId=own)
    described["Cluster"]["Status"] |= {"State": state}  # type: ignore[typeddict-item]
    monkeypatch.setattr(aws.emr, "describe_cluster", lambda **_: described)
    with pytest.raises(OperationFailed, match=rf"{own}  is {state}\n(.|\n)*warmbase deploy dev"):
        pin(aws, read(file), "blue")
