"""Every call keeps to the limits that AWS documents for it, and every list is read to its last page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import jmespath  # type: ignore[import-untyped]
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.session import get_session
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import Deployed
from tests.operations.mocked_aws import clients
from tests.operations.test_refused_calls import run_preflight
from warmbase.operations.aws.clients import PATIENT, Aws, filtered
from warmbase.operations.cluster.alarms import described_alarms, mute
from warmbase.operations.cluster.boost import read_boost
from warmbase.operations.cluster.caches import reads_since
from warmbase.operations.cluster.description import described_cluster
from warmbase.operations.cluster.drift import cluster_drift, read_running_cluster
from warmbase.operations.cluster.state import state

LIMITS: Final[Mapping[str, tuple[str, int, str]]] = {
    "CancelSteps": ("StepIds", 256, "EMR API Reference"),
    "CreateTags": ("Resources", 1000, "EC2 API Reference"),
    "DescribeAlarms": ("AlarmNames", 100, "CloudWatch API Reference"),
    "DescribeInstances": ("Filters[].Values[]", 200, "EC2 API Reference, FilterLimitExceeded"),
    "DescribeVolumes": ("Filters[].Values[]", 200, "EC2 API Reference, FilterLimitExceeded"),
    "DescribeVolumesModifications": ("Filters[].Values[]", 200, "EC2 API Reference, FilterLimitExceeded"),
    "DisableAlarmActions": ("AlarmNames", 100, "CloudWatch API Reference"),
    "EnableAlarmActions": ("AlarmNames", 100, "CloudWatch API Reference"),
    "GetMetricData": ("MetricDataQueries", 500, "CloudWatch API Reference"),
    "ListSteps": ("StepIds", 10, "EMR API Reference"),
    "PutAlarmMuteRule": ("MuteTargets.AlarmNames", 100, "CloudWatch API Reference"),
    "SendCommand": ("InstanceIds", 50, "Systems Manager API Reference"),
}
"""The most values that an operation takes: the parameter, the number, and the source."""
MOST_RESOURCES: Final = 100
"""DescribeStackResources returns no more of a stack (CloudFormation API Reference)."""


class Limited:
    """AWS with its documented limits, and with so many entries on each page of a list."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original, self.page_entries = original, 1

    def __call__(self, client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        # The local AWS asks itself as well, by clients of its own.
        if vars(client.meta.config).get("retries") != vars(PATIENT)["retries"]:
            return self.original(client, operation, parameters)
        path, most, _ = LIMITS.get(operation, ("", 0, ""))
        values: list[object] = (path and jmespath.search(path, parameters)) or []
        if len(values) > most:
            error: Any = {"Code": "LimitExceeded", "Message": f"{operation} takes {most} of {path}, not {len(values)}"}
            raise ClientError({"Error": error}, operation)
        return self._page(client, operation, parameters)

    def _page(self, client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        service = client.meta.service_model.service_name
        paginators = get_session().get_paginator_model(service)
        try:
            config = paginators.get_paginator(operation)
        except ValueError:
            return self._whole(client, operation, parameters)
        names = config["input_token"], config["output_token"], config["result_key"]
        if service not in {"ec2", "emr", "scheduler"} or not all(isinstance(name, str) for name in names):
            return self._whole(client, operation, parameters)
        given, following, key = names
        begin = int(parameters.get(given) or 0)
        parameters = {name: value for name, value in parameters.items() if name != given}
        answer = self._whole(client, operation, parameters)
        everything = answer.get(key, [])
        while token := answer.pop(following, None):
            answer = self._whole(client, operation, {**parameters, given: token})
            everything += answer.get(key, [])
        answer[key] = everything[begin : begin + self.page_entries]
        if begin + self.page_entries < len(everything):
            answer[following] = str(begin + self.page_entries)
        return answer

    def _whole(self, client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        answer = self.original(client, operation, parameters)
        if operation == "DescribeStackResources":
            assert len(answer["StackResources"]) <= MOST_RESOURCES
        return answer


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Limited:
    limits = Limited(BaseClient._make_api_call)  # type: ignore[attr-defined]

    def called(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        return limits(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", called)
    return limits


READINGS: Final[Mapping[str, Callable[[Deployed], object]]] = {
    "the description of a cluster": lambda here: described_cluster(here.aws, "dev", "blue"),
    "the boost": lambda here: read_boost(here.aws, here.launch, read_running_cluster(here.aws, here.launch).cluster),
    "the status": lambda here: replace(state(here.aws, here.environment), at=""),
    "the drift": lambda here: cluster_drift(here.aws, here.launch),
    "the checks before a deployment": run_preflight,
    "the alarms": lambda here: described_alarms(here.aws, "dev", "blue"),
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_is_the_same_with_one_entry_on_each_page(
    reading: str, here: Deployed, limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    monkeypatch.setattr(Aws, "now", lambda _: now)
    limited.page_entries = 1_000
    READINGS[reading](here)  # a change is under way until somebody looks
    whole = READINGS[reading](here)
    limited.page_entries = 1
    assert READINGS[reading](here) == whole


NODES: Final = [f"i-{number:017x}" for number in range(601)]


def volumes(aws: Aws) -> object:
    return filtered(aws.ec2.get_paginator("describe_volumes"), "Volumes", "volume-id", NODES)


def caches(aws: Aws) -> object:
    return reads_since(aws, "j-1", NODES, datetime.now(UTC) - timedelta(minutes=9))


@pytest.mark.parametrize("call", [volumes, caches])
def test_a_cluster_of_601_nodes_is_read_within_the_limits(call: Callable[[Aws], object], limited: Limited) -> None:
    install()
    with mock_aws():
        limited.page_entries = 1_000
        call(clients())


def test_the_boost_of_a_cluster_with_more_than_200_volumes_is_read(here: Deployed, limited: Limited) -> None:
    limited.page_entries = 1_000
    [core] = [
        group["Id"]
        for group in here.aws.emr.list_instance_groups(ClusterId=here.cluster_id)["InstanceGroups"]
        if group["InstanceGroupType"] == "CORE"
    ]
    here.aws.emr.modify_instance_groups(InstanceGroups=[{"InstanceGroupId": core, "InstanceCount": 201}])
    boost = READINGS["the boost"](here)
    assert len(boost.volumes) == 201  # type: ignore[attr-defined]


def test_the_notifications_of_a_cluster_are_muted_within_the_limits(here: Deployed, limited: Limited) -> None:
    del limited
    assert "mute rule" in mute(here.aws, "dev", "blue")
