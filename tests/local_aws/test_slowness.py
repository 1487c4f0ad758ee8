"""The local AWS under the worse readings: descriptions lag, calls are throttled, and volumes change slowly."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from local_aws import controls, moto_internals, schedules, slowness
from local_aws.extension import install
from tests.operations.mocked_aws import VARIABLES

FILTER = "volume-id"


def client(service: str) -> Any:
    """Return a client that tries each call once."""
    return boto3.client(  # type: ignore[call-overload]
        service,
        region_name="us-east-1",
        aws_access_key_id=VARIABLES["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=VARIABLES["AWS_SECRET_ACCESS_KEY"],
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Play the worse readings in an empty AWS; return its time, which a test sets."""
    install()
    now = [1000.0]
    monkeypatch.setattr(controls, "are_worse", lambda: True)
    monkeypatch.setattr(slowness, "time", SimpleNamespace(monotonic=lambda: now[0]))
    memories: tuple[Any, ...] = (slowness._calls, slowness._written, slowness._answers)
    with mock_aws():
        for memory in memories:
            memory.clear()
        yield now
    for memory in memories:
        memory.clear()
    controls.reset()


def codes(call: Any, times: int) -> list[str]:
    """Return the error of each of so many calls; an empty text for one that succeeds."""
    found = []
    for _ in range(times):
        try:
            call()
            found.append("")
        except ClientError as error:
            found.append(error.response["Error"]["Code"])
    return found


@pytest.mark.usefixtures("clock")
def test_the_first_call_and_each_fifth_is_throttled_but_none_of_the_local_aws_itself() -> None:
    pattern = [True, False, False, False, False, True, False]
    assert codes(client("ec2").describe_volumes, 7) == ["RequestLimitExceeded" * hit for hit in pattern]
    assert codes(client("emr").list_clusters, 7) == ["ThrottlingException" * hit for hit in pattern]
    assert codes(client("ssm").describe_parameters, 2) == ["", ""]
    assert codes(moto_internals.client("ec2", "us-east-1").describe_snapshots, 2) == ["", ""]


def test_a_volume_is_described_as_before_for_a_while_and_modified_in_three_states(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slowness, "THROTTLED_EACH", 1)  # throttles none
    monkeypatch.setattr(schedules, "OPTIMIZING", [timedelta(hours=4)])
    ec2 = client("ec2")
    volume = {"AvailabilityZone": "us-east-1a", "Size": 10, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125}
    created = ec2.create_volume(**volume)["VolumeId"]

    def shown() -> tuple[int, str]:
        by_id: Any = [{"Name": FILTER, "Values": [created]}]
        [volume] = ec2.describe_volumes(Filters=by_id)["Volumes"]
        changes = ec2.describe_volumes_modifications(Filters=by_id)["VolumesModifications"]
        return volume["Throughput"], changes[0]["ModificationState"] if changes else ""

    assert shown() == (125, "")
    clock[0] += 1
    ec2.modify_volume(VolumeId=created, Throughput=250)
    assert shown() == (125, "")
    clock[0] += slowness.LAG_SECONDS
    assert shown() == (125, "modifying")
    with pytest.raises(ClientError, match=r"IncorrectModificationState.*MODIFYING"):
        ec2.modify_volume(VolumeId=created, Throughput=300)
    clock[0] += slowness.LAG_SECONDS
    controls.advance(3600)
    assert shown() == (250, "optimizing")
    controls.advance(3 * 3600)
    assert shown() == (250, "completed")


def test_a_filter_takes_200_values() -> None:
    install()
    with mock_aws():
        names = [f"vol-{number:017x}" for number in range(201)]
        ec2 = client("ec2")
        assert ec2.describe_volumes(Filters=[{"Name": FILTER, "Values": names[:200]}])["Volumes"] == []
        with pytest.raises(ClientError, match=r"FilterLimitExceeded.*on a single call is 200"):
            ec2.describe_volumes(Filters=[{"Name": FILTER, "Values": names}])
