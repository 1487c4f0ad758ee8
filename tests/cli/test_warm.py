"""`warmbase warm` shows each cache from the figures that its node published, and waits for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients
from tests.pages import PROJECT
from warmbase.cli.operate import warm as command
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Infeasible, OperationFailed, Refused
from warmbase.operations.cluster import caches
from warmbase.operations.cluster.stack import running_nodes
from warmbase.sizing.recovery.warmth import target_of

MINUTES = 12


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    install()
    with mock_aws():
        here = deployed(clients(), tmp_path)
        monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
        yield here


def publish(here: Deployed, first: float, last: float, *, evictions: float = 0, ratio: float = 0.5) -> None:
    """Publish a fill of every core node that changes evenly from the first share of the plan's bytes to the last."""
    target = target_of(here.launch.plan)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    for instance in running_nodes(here.aws, here.cluster_id, "CORE"):
        dimensions = [{"Name": "ClusterId", "Value": here.cluster_id}, {"Name": "InstanceId", "Value": instance}]
        for number in range(MINUTES):
            share = first + (last - first) * number / (MINUTES - 1)
            fill = share * target.warm_bytes / target.cache_bytes
            figures = {"Fill": fill, "Hits": 6000 * ratio, "Misses": 6000 * (1 - ratio), "Evictions": evictions}
            at = now - timedelta(minutes=MINUTES - 1 - number)
            data: Any = [
                {"MetricName": name, "Dimensions": dimensions, "Timestamp": at, "Value": value}
                for name, value in figures.items()
            ]
            here.aws.cloudwatch.put_metric_data(Namespace="warmbase", MetricData=data)


def run(here: Deployed, verb: str, *options: str) -> Result:
    return CliRunner().invoke(command.warm, [verb, str(here.file), *options])


def test_the_status_has_share_rate_and_remaining_time_of_each_cache(here: Deployed) -> None:
    publish(here, 0.25, 0.5)
    document = json.loads(run(here, "status", "--output", "json").stdout)
    assert {server["verdict"] for server in document["servers"]} == {"filling"}
    share = document["servers"][0]["share"]
    assert share == pytest.approx(0.5, abs=0.03)
    # A minute adds 0.25 / 11 of the plan's bytes.
    assert document["seconds"] == pytest.approx(60 * (0.98 - share) / (0.25 / (MINUTES - 1)), rel=0.02)
    page = run(here, "status").stdout
    assert f"0 of {len(document['servers'])} caches warm" in page
    assert max(map(len, page.splitlines())) <= 80


def test_waiting_ends_when_every_cache_is_warm(here: Deployed) -> None:
    publish(here, 0.9, 1.0)
    result = run(here, "wait")
    assert result.exit_code == 0, result.output
    assert "blue is warm: 2 of 2 caches warm" in result.stdout


def test_waiting_ends_when_the_time_is_over(here: Deployed) -> None:
    publish(here, 0.25, 0.5)
    error = run(here, "wait", "--timeout", "50ms").exception
    assert isinstance(error, OperationFailed)
    assert "is not warm after 50 ms" in str(error)


def test_waiting_ends_where_a_cache_will_not_get_warmer(here: Deployed) -> None:
    target = target_of(here.launch.plan)
    full = 0.95 * target.cache_bytes / target.warm_bytes
    publish(here, full, full, evictions=50)
    error = run(here, "wait", "--hit-ratio", "95%").exception
    assert isinstance(error, Infeasible)
    assert "will not get warmer" in str(error)
    assert "the cache is full and evicts" in str(error)


def test_a_cluster_without_a_cache_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text() + "\nstorage: {mode: s3-plain}\n")
    environment = read_environment(str(file))
    with pytest.raises(Refused, match="no cache on disk"):
        caches.refuse_uncached(launch_of(environment, environment.active))


def test_share_and_hit_ratio_are_two_conditions(here: Deployed) -> None:
    assert "these are two conditions" in str(run(here, "wait", "--share", "0.9", "--hit-ratio", "0.9").exception)
