"""`warmbase warm boost` on the local AWS: the schedules exist before a volume is raised, and they restore it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner, Result
from moto import mock_aws
from moto.ec2.models import ec2_backends
from msgspec.structs import replace

from local_aws import controls, schedules
from local_aws.extension import install
from local_aws.server import ACCOUNT
from tests.cli.test_warm import publish
from tests.operations.boost_model import readings
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients
from warmbase.cli.operate import warm as command
from warmbase.cli.operate import warm as group
from warmbase.cli.operate.status import status
from warmbase.environments.names import boost_group
from warmbase.ground.errors import InvalidInput, OperationFailed, Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.cluster import boost
from warmbase.operations.cluster.boost import (
    FIRING_SECONDS,
    WINDOW_SECONDS,
    BoostState,
    ClusterBoost,
    cluster_boost,
    read_boost,
)
from warmbase.operations.cluster.caches import read_progress
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.verify.check import HBaseContext
from warmbase.operations.verify.verification import boost_checks
from warmbase.sizing.recovery.warmth import Gate, missing_fraction


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    install()
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta()])
    with mock_aws():
        here = deployed(clients(), tmp_path)
        monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
        monkeypatch.setattr("warmbase.cli.operate.status.environment_aws", lambda *_: here.aws)
        monkeypatch.setattr(boost, "turns", readings)
        yield here
    controls.reset()


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(group.warm, ["boost", str(here.file), *options])


def state(here: Deployed) -> BoostState:
    found = read_boost(here.aws, here.launch, read_running_cluster(here.aws, here.launch).cluster)
    assert found is not None
    return found


def test_a_dry_run_shows_the_boost_and_changes_nothing(here: Deployed) -> None:
    result = run(here, "--dry-run", "--level", "sustained")
    assert result.exit_code == 0, result.output
    assert "2 cache volumes with 125 MiB/s and 3,000 IOPS each" in result.stdout
    assert "150 MiB/s and 3,000 IOPS for 2 h" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (state(here).raised, state(here).ways_back) == ({}, {})


def test_the_predicted_time_is_for_what_the_emptiest_cache_lacks(here: Deployed) -> None:
    shown = " ".join(run(here, "--dry-run").stdout.split())
    assert "no cache has published figures; without reads, an empty one fills in" in shown
    publish(here, 0.25, 0.5)
    chosen = command.fill_boost(here.launch, None, read_progress(here.aws, here.launch, here.cluster_id, Gate()))
    assert chosen.time.seconds == pytest.approx(chosen.boost.seconds / 2, rel=0.06)
    shown = " ".join(run(here, "--dry-run").stdout.split())
    share = format_percent(1 - missing_fraction(chosen.servers))
    assert f"the emptiest cache holds {share} of the planned bytes; without reads, the rest takes" in shown
    silent = replace(chosen.servers[0], share=None)
    some = command.fill_boost(here.launch, None, (silent, *chosen.servers[1:]))
    assert some.time.seconds == pytest.approx(chosen.boost.seconds)
    assert some.why.startswith("1 of 2 caches have published no figures; without reads, an empty one fills in")


def test_no_boost_begins_where_every_cache_is_warm(here: Deployed) -> None:
    publish(here, 0.9, 1.0)
    error = run(here, "--yes").exception
    assert isinstance(error, Refused)
    assert "is warm already" in str(error)
    assert state(here).ways_back == {}


def test_volumes_are_raised_shown_and_go_back_by_themselves(here: Deployed) -> None:
    result = run(here, "--yes", "--for", "2h")
    assert result.exit_code == 0, result.output
    now = state(here)
    assert len(now.raised) == 2
    assert {volume.provision for volume in now.raised.values()} == {(575, 3000)}
    assert now.ways_back.keys() == now.volumes.keys()
    assert {(way.attempt, way.remaining) for way in now.ways_back.values()} == {(1, 3)}
    assert now.ends_at == now.announced_end
    shown = CliRunner().invoke(group.warm, ["status", str(here.file)]).stdout
    assert "2 raised until" in " ".join(shown.split())
    assert "OVERDUE" not in shown
    controls.advance(2 * 3600 + 1)
    assert state(here).raised == {}
    assert {way.remaining for way in state(here).ways_back.values()} == {2}, "what has fired deletes itself"


def test_a_volume_of_a_node_that_is_lost_is_not_one_of_the_cluster(here: Deployed) -> None:
    before = state(here).volumes.keys()
    lost = here.aws.emr.list_instances(ClusterId=here.cluster_id, InstanceGroupTypes=["CORE"])["Instances"][0]
    # EC2 deletes the volumes of an instance some time after its end.
    for mapping in ec2_backends[ACCOUNT]["us-east-1"].get_instance(lost["Ec2InstanceId"]).block_device_mapping.values():
        mapping.delete_on_termination = False
    here.aws.ec2.terminate_instances(InstanceIds=[lost["Ec2InstanceId"]])
    after = state(here).volumes.keys()
    assert len(after) == len(before)
    assert len(before - after) == 1


def results(here: Deployed) -> dict[str, bool | None]:
    cluster = read_running_cluster(here.aws, here.launch).cluster
    core, unread = here.launch.plan.core, "not asked"
    context = HBaseContext(
        aws=here.aws,
        launch=here.launch,
        core=core,
        cluster=cluster,
        nodes={},
        primary=unread,
        caches=unread,
        effective={},
    )
    return {result.check: result.good for result in boost_checks(context)}


def overview(here: Deployed) -> str:
    return " ".join(CliRunner().invoke(status, [str(here.file)]).stdout.split())


def test_status_and_verify_show_a_boost_and_warn_when_it_is_overdue(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta(hours=5)])
    assert "boost" not in overview(here)
    assert results(here) == {"end of a boost": True}
    assert run(here, "--yes", "--for", "1h").exit_code == 0
    assert "2 raised until" in overview(here)
    assert "at an extra $0.05 an hour" in overview(here)
    assert results(here) == {"end of a boost": True, "schedules of a boost": True, "raised volumes and EMR": True}
    controls.advance(3600 + FIRING_SECONDS + 1)
    later = datetime.now(UTC) + timedelta(seconds=3600 + FIRING_SECONDS + 1)
    monkeypatch.setattr(Aws, "now", lambda _: later)
    assert "OVERDUE: 2 volumes are still raised after that time; the next attempt" in overview(here)
    assert "warmbase warm boost dev --end" in overview(here)
    assert results(here) == {"end of a boost": False, "schedules of a boost": True, "raised volumes and EMR": True}


def test_a_volume_that_somebody_raised_has_no_way_back(here: Deployed) -> None:
    name = next(iter(state(here).volumes))
    here.aws.ec2.modify_volume(VolumeId=name, Throughput=250, Iops=3000)
    assert "1 volume is raised without a schedule that restores the throughput" in overview(here)
    assert results(here)["end of a boost"] is False
    assert results(here)["schedules of a boost"] is False


def test_a_boosted_volume_is_no_drift(here: Deployed) -> None:
    before = read_running_cluster(here.aws, here.launch).changes(here.launch)
    assert run(here, "--yes").exit_code == 0
    assert read_running_cluster(here.aws, here.launch).changes(here.launch) == before


def test_a_modification_that_outlasts_the_boost_is_taken_back_later(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta(hours=5)])
    assert run(here, "--yes", "--for", "1h").exit_code == 0
    controls.advance(3600 + 1)
    assert len(state(here).raised) == 2
    controls.advance(6 * 3600)
    assert state(here).raised == {}


def test_ending_takes_the_volumes_back_and_deletes_the_schedules(here: Deployed) -> None:
    assert "no cache volume is raised" in run(here, "--end").stdout
    assert run(here, "--yes").exit_code == 0
    result = run(here, "--end", "--yes")
    assert result.exit_code == 0, result.output
    assert (state(here).raised, state(here).ways_back) == ({}, {})


def test_a_second_boost_on_the_same_day_is_refused(here: Deployed) -> None:
    assert run(here, "--yes").exit_code == 0
    assert run(here, "--end", "--yes").exit_code == 0
    error = run(here, "--yes").exception
    assert isinstance(error, Refused)
    assert "four modifications" in str(error)


def test_running_it_again_extends_the_time(here: Deployed) -> None:
    assert run(here, "--yes", "--for", "1h").exit_code == 0
    first = state(here).ends_at
    result = run(here, "--yes", "--for", "3h")
    assert result.exit_code == 0, result.output
    assert "only their schedules change" in " ".join(result.stdout.split())
    last = state(here).ends_at
    assert first is not None
    assert last is not None
    assert last - first == pytest.approx(2 * 3600, abs=60)
    assert len(state(here).raised) == 2


def test_a_stack_without_the_role_is_refused(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterBoost, "_role", lambda _: "")
    error = run(here, "--yes").exception
    assert isinstance(error, Refused)
    assert "deploy the environment again (warmbase deploy)" in str(error)
    assert state(here).ways_back == {}


def test_a_schedule_that_the_scheduler_refuses_raises_nothing(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterBoost, "_role", lambda _: "arn:aws:iam::123456789012:role/other")
    assert isinstance(run(here, "--yes").exception, OperationFailed)
    assert state(here).raised == {}


def test_a_second_operator_is_refused_by_the_lock(here: Deployed) -> None:
    with environment_lock(here.aws, here.environment, "restart --rolling"):
        error = run(here, "--yes").exception
    assert isinstance(error, Refused)
    assert state(here).ways_back == {}


@pytest.mark.parametrize("seconds", ["10min", "25h"])
def test_a_boost_lasts_15_minutes_to_24_hours(here: Deployed, seconds: str) -> None:
    assert isinstance(run(here, "--yes", "--for", seconds).exception, InvalidInput)


def test_a_schedule_that_fires_while_it_is_read_is_passed_over(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(here, "--yes").exit_code == 0
    get = here.aws.scheduler.get_schedule

    def read(GroupName: str, Name: str) -> object:  # noqa: N803 - the scheduler's names
        if Name.endswith("-2"):
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "gone"}}, "GetSchedule")
        return get(GroupName=GroupName, Name=Name)

    monkeypatch.setattr(here.aws.scheduler, "get_schedule", read)
    assert [way.remaining for way in state(here).ways_back.values()] == [2, 2]


def test_a_volume_that_ec2_is_changing_is_not_modified(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta(hours=5)])
    control = cluster_boost(here.aws, here.launch, read_running_cluster(here.aws, here.launch).cluster)
    name = next(iter(control.state().volumes))
    assert [control.modify(name, (150, 3000)), control.modify(name, (125, 3000))] == [True, False]


def test_the_stack_takes_its_schedules_along(here: Deployed) -> None:
    assert run(here, "--yes").exit_code == 0
    group_name = boost_group("dev", "blue")
    here.aws.scheduler.delete_schedule_group(Name=group_name)
    assert state(here).ways_back == {}


def test_by_default_a_boost_lasts_the_fill_and_an_hour_in_whole_hours() -> None:
    assert command.default_seconds(1) == 2 * 3600
    assert command.default_seconds(3600) == 2 * 3600
    assert command.default_seconds(3601) == 3 * 3600


def test_ec2_refuses_a_fifth_modification_within_24_hours(here: Deployed) -> None:
    name = next(iter(state(here).volumes))
    for number in range(4):
        here.aws.ec2.modify_volume(VolumeId=name, Throughput=150 + number, Iops=3000)
    with pytest.raises(here.aws.ec2.exceptions.ClientError, match="VolumeModificationRateExceeded"):
        here.aws.ec2.modify_volume(VolumeId=name, Throughput=125, Iops=3000)
    controls.advance(WINDOW_SECONDS + 1)
    here.aws.ec2.modify_volume(VolumeId=name, Throughput=125, Iops=3000)
    modified = state(here).volumes[name].modified_at
    assert modified is not None
    assert modified > datetime.now(UTC).timestamp()
