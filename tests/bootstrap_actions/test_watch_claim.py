"""The program that watches the claim on each node: two nodes of two clusters over one root of the local AWS."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from local_aws.server import local_aws
from tests.bootstrap_actions.services import Services, run_program, services
from tests.local_aws.test_local_aws_server import client_of

BUCKET, KEY = "root", "hbase.warmbase-claim"
READ_ONLY, OWN_READ_ONLY = "hbase.global.readonly.enabled", "hbase.emr.readreplica.enabled"
EMR_REPLICA = {"hbase.meta.table.suffix": "j-ONE", READ_ONLY: "true", "hbase.meta.startup.refresh": "true"}
"""The properties that EMR writes into hbase-site.xml of a replica; its own key is not among them."""
SYSTEMCTL = """#!/bin/sh
echo "$@" >>{directory}/calls
case "$1" in
is-active) grep -qx active "{directory}/$3" ;;
kill) rm "{directory}/$3" ;;
esac
"""


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, Any]]:
    """Yield the URL of the local AWS's S3, and a client of it."""
    with local_aws() as local:
        client = client_of(local, "s3")
        client.create_bucket(Bucket=BUCKET)
        yield local.endpoint, client


class Node(Struct, dict=True):
    """A node with HBase, the program's state, and a stub of systemctl with the states of the units."""

    directory: Path
    aws: Services
    s3: str
    cluster: str = "j-ONE"
    launched_at: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        self.directory.mkdir()
        self.site()
        systemctl = self.directory / "systemctl"
        systemctl.write_text(SYSTEMCTL.format(directory=self.directory))
        systemctl.chmod(0o755)
        flow = {"jobFlowId": self.cluster, "jobFlowCreationInstant": round(self.launched_at * 1000)}
        (self.directory / "job-flow.json").write_text(json.dumps(flow))
        self.start("hbase-regionserver")

    def site(self, properties: Mapping[str, str] = {}) -> None:
        """Write hbase-site.xml."""
        lines = (
            f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()
        )
        (self.directory / "hbase-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")

    def serve(self, properties: Mapping[str, str]) -> None:
        """Let the HBase that runs on the node serve this configuration, as it does at /conf."""
        entries = [{"key": key, "value": value, "isFinal": False} for key, value in properties.items()]
        self.aws.configuration = json.dumps({"properties": entries})

    def start(self, unit: str, state: str = "active") -> None:
        """Let systemctl report that the unit is in this state."""
        (self.directory / unit).write_text(f"{state}\n")

    def runs(self, unit: str = "hbase-regionserver") -> bool:
        return (self.directory / unit).exists()

    def minute(self, *more: str, fencing: str = "stop", role: str = "active") -> subprocess.CompletedProcess[str]:
        """Run the program as the timer does, or as systemd does before a start of HBase."""
        places = {
            "bucket": BUCKET,
            "key": KEY,
            "role": role,
            "fencing": fencing,
            "hbase-site": self.directory / "hbase-site.xml",
            "job-flow": self.directory / "job-flow.json",
            "state": self.directory / "state" / "claim.json",
            "metadata": self.aws.url,
            "s3": self.s3,
            "running": self.aws.url,
            "cloudwatch": self.aws.url,
        }
        arguments = [f"--{name}={value}" for name, value in places.items()]
        path = {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"}
        return run_program("watch_claim.py", *arguments, *more, environment=path)

    def may_start(self) -> bool:
        return self.minute("--before-start").returncode == 0

    def published(self) -> dict[str, float]:
        """Return the figures since the last call, by name."""
        figures = {
            request[f"MetricData.member.{number}.MetricName"]: float(request[f"MetricData.member.{number}.Value"])
            for request in self.aws.published
            for number in {key.split(".")[2] for key in request if key.startswith("MetricData.member.")}
        }
        self.aws.published.clear()
        return figures

    def forget_minutes(self, minutes: float) -> None:
        """Move the times in the program's state back by so many minutes."""
        state = self.directory / "state" / "claim.json"
        memory = json.loads(state.read_text())
        state.write_text(json.dumps(memory | {"confirmed_at": memory["confirmed_at"] - 60 * minutes}))


@pytest.fixture
def one(tmp_path: Path, store: tuple[str, Any]) -> Iterator[Node]:
    with services() as aws:
        yield Node(tmp_path / "one", aws, store[0])


@pytest.fixture
def two(tmp_path: Path, store: tuple[str, Any]) -> Iterator[Node]:
    with services() as aws:
        yield Node(tmp_path / "two", aws, store[0], cluster="j-TWO")


def claim(store: tuple[str, Any], cluster: str | None, later_seconds: float = 1.0) -> None:
    """Write a claim of the cluster with a time so much later than now, or remove the claim."""
    store[1].delete_object(Bucket=BUCKET, Key=KEY)
    if cluster is not None:
        at = datetime.fromtimestamp(time.time() + later_seconds, UTC).isoformat(timespec="seconds")
        content = {"cluster": cluster, "region": "us-east-1", "account": "1", "claimed_at": at}
        store[1].put_object(Bucket=BUCKET, Key=KEY, Body=json.dumps(content).encode(), IfNoneMatch="*")


def test_the_node_of_the_cluster_that_loses_the_claim_is_fenced(one: Node, two: Node, store: tuple[str, Any]) -> None:
    claim(store, "j-ONE")
    assert one.minute().returncode == 0
    assert (one.runs(), one.may_start(), one.published()) == (True, True, {})
    assert two.minute().returncode == 0
    assert (two.runs(), two.may_start()) == (False, False)
    assert two.published()["ForeignClaim"] == 1
    claim(store, "j-TWO")
    done = one.minute()
    assert "j-TWO has the claim s3://root/hbase.warmbase-claim" in done.stderr
    assert (one.runs(), one.may_start()) == (False, False)
    assert one.published()["ForeignClaim"] == 1
    assert two.may_start()
    two.start("hbase-regionserver")
    two.minute()
    assert (two.runs(), two.published()) == (True, {})


def test_hbase_is_killed_so_that_it_writes_nothing_more(one: Node, store: tuple[str, Any]) -> None:
    """A RegionServer that shuts down flushes its memstores to the root of the other cluster."""
    one.start("hbase-master")
    claim(store, "j-TWO")
    one.minute()
    calls = (one.directory / "calls").read_text().splitlines()
    for unit in ("hbase-regionserver", "hbase-master"):
        assert calls.index(f"kill --signal=SIGKILL {unit}") < calls.index(f"stop {unit}")
        assert not one.runs(unit)


@pytest.mark.parametrize("state", ["activating", "deactivating"])
def test_a_server_that_is_just_starting_or_stopping_is_killed(one: Node, store: tuple[str, Any], state: str) -> None:
    """The unit is not active for systemd, but the server can write to the root."""
    one.start("hbase-regionserver", state)
    claim(store, "j-TWO")
    assert one.minute().returncode == 0
    assert not one.runs()


def test_an_environment_that_asks_for_alarms_only_stops_nothing(one: Node, store: tuple[str, Any]) -> None:
    claim(store, "j-TWO")
    assert one.minute(fencing="alarm").returncode == 0
    assert one.runs()
    assert one.published()["ForeignClaim"] == 1
    assert one.minute("--before-start", fencing="alarm").returncode == 0


@pytest.mark.parametrize("holder", [None, "nobody", "unreadable", "old"])
def test_a_claim_without_another_cluster_is_an_alarm_and_never_a_stop(
    one: Node, store: tuple[str, Any], holder: str | None
) -> None:
    began = time.time()
    claim(store, "j-ONE")
    one.minute()
    if holder == "unreadable":
        one.s3 = "http://127.0.0.1:1"
    elif holder == "old":
        claim(store, "j-DEAD", later_seconds=-3_600)
    else:
        claim(store, holder)
    one.minute()
    one.forget_minutes(5)
    one.published()
    one.minute()
    figures = one.published()
    assert "ForeignClaim" not in figures
    assert 5 < figures["ClaimUnconfirmedMinutes"] <= 5 + (time.time() - began) / 60
    assert one.runs()
    assert one.may_start()


def test_a_fenced_node_stays_fenced_while_the_claim_cannot_be_read(one: Node, store: tuple[str, Any]) -> None:
    claim(store, "j-TWO")
    one.minute()
    reachable, one.s3 = one.s3, "http://127.0.0.1:1"
    assert not one.may_start()
    one.s3 = reachable
    claim(store, "nobody")
    assert one.may_start()


@pytest.mark.parametrize("properties", [EMR_REPLICA, {OWN_READ_ONLY: "true"}], ids=["EMR's keys", "own key"])
def test_a_replica_is_left_alone(one: Node, store: tuple[str, Any], properties: Mapping[str, str]) -> None:
    claim(store, "j-ACTIVE")
    one.site(properties)
    one.minute(role="replica")
    one.forget_minutes(5)
    assert one.minute(role="replica").returncode == 0
    assert one.minute("--before-start", role="replica").returncode == 0
    assert (one.runs(), one.published()) == (True, {})


def test_a_replica_that_became_a_writer_is_fenced(one: Node, store: tuple[str, Any]) -> None:
    """Somebody has changed the settings of its groups by hand; the active cluster claimed the root long before."""
    claim(store, "j-ACTIVE", later_seconds=-86_400)
    one.site(EMR_REPLICA | {READ_ONLY: "false"})
    one.start("hbase-regionserver", "deactivating")
    one.minute(role="replica")
    assert not one.runs()
    assert one.published()["ForeignClaim"] == 1
    assert one.minute("--before-start", role="replica").returncode == 1


@pytest.mark.parametrize("properties", [{}, {OWN_READ_ONLY: "false"}, {READ_ONLY: ""}])
def test_a_replica_whose_file_does_not_say_so_is_an_alarm_and_never_a_stop(
    one: Node, store: tuple[str, Any], properties: Mapping[str, str]
) -> None:
    began = time.time()
    claim(store, "j-ACTIVE")
    one.site(properties)
    one.minute(role="replica")
    one.forget_minutes(5)
    one.published()
    done = one.minute(role="replica")
    assert "nothing says whether this replica is read-only" in done.stderr
    figures = one.published()
    assert "ForeignClaim" not in figures
    assert 5 < figures["ClaimUnconfirmedMinutes"] <= 5 + (time.time() - began) / 60
    assert one.runs()
    assert one.minute("--before-start", role="replica").returncode == 0
    claim(store, "j-ONE")
    one.minute(role="replica")
    assert one.published() == {}, "it has claimed the root"


def test_a_replica_whose_running_hbase_was_switched_is_fenced(one: Node, store: tuple[str, Any]) -> None:
    """`readonly_switch` changes the running HBase; the file of the node still says that it is read-only."""
    claim(store, "j-ACTIVE", later_seconds=-86_400)
    one.site(EMR_REPLICA)
    one.serve(EMR_REPLICA)
    one.minute(role="replica")
    assert (one.runs(), one.published()) == (True, {})
    one.serve({**EMR_REPLICA, READ_ONLY: "false", OWN_READ_ONLY: "true"})
    done = one.minute(role="replica")
    assert "the HBase that runs on this node is not read-only" in done.stderr
    assert not one.runs()
    assert one.published()["ForeignClaim"] == 1


def test_a_cluster_whose_file_became_a_replicas_is_watched_while_its_hbase_writes(
    one: Node, store: tuple[str, Any]
) -> None:
    claim(store, "j-TWO")
    one.site(EMR_REPLICA)
    one.serve({READ_ONLY: "false"})
    one.minute()
    assert one.published()["ForeignClaim"] == 1


def test_the_running_hbase_answers_for_a_file_that_does_not_say(one: Node, store: tuple[str, Any]) -> None:
    claim(store, "j-ACTIVE")
    one.serve(EMR_REPLICA)
    one.minute(role="replica")
    one.forget_minutes(5)
    one.minute(role="replica")
    assert (one.runs(), one.published()) == (True, {})


def test_hbase_that_starts_has_what_its_file_says(one: Node, store: tuple[str, Any]) -> None:
    """A start ends what somebody switched in the running HBase, which is not asked: it may hang."""
    claim(store, "j-ACTIVE", later_seconds=-86_400)
    one.site(EMR_REPLICA)
    one.serve({READ_ONLY: "false"})
    one.aws.requests.clear()
    assert one.minute("--before-start", role="replica").returncode == 0
    assert [path for _, path, _ in one.aws.requests if path.startswith("/conf")] == []
    one.site({READ_ONLY: "false"})
    one.serve(EMR_REPLICA)
    assert one.minute("--before-start", role="replica").returncode == 1


@pytest.mark.parametrize("page", [None, "<html/>", "[]", '{"properties": [{"key": "hbase.rootdir"}]}'])
def test_the_file_counts_where_hbase_does_not_answer(one: Node, store: tuple[str, Any], page: str | None) -> None:
    claim(store, "j-ACTIVE")
    one.site(EMR_REPLICA)
    one.aws.configuration = page
    one.minute(role="replica")
    assert (one.runs(), one.published()) == (True, {})


def test_a_replica_that_is_being_installed_raises_no_alarm(one: Node, store: tuple[str, Any]) -> None:
    """EMR installs HBase with an empty hbase-site.xml, and writes the settings afterwards."""
    claim(store, "j-ACTIVE")
    (one.directory / "hbase-regionserver").unlink()
    one.minute(role="replica")
    one.forget_minutes(5)
    one.minute(role="replica")
    assert one.published() == {}
    one.start("hbase-master")
    one.minute(role="replica")
    one.minute(role="replica")
    assert one.published()["ClaimUnconfirmedMinutes"] < 1


def test_a_node_without_hbase_is_left_alone(one: Node, store: tuple[str, Any]) -> None:
    claim(store, "j-TWO")
    (one.directory / "hbase-site.xml").unlink()
    assert one.minute().returncode == 0
    assert (one.runs(), one.published()) == (True, {})


@pytest.mark.parametrize(
    "state", ["", "[]", '{"confirmed_at": "x", "holder": ""}', '{"confirmed_at": 1e12, "holder": ""}']
)
def test_a_memory_that_cannot_be_read_begins_anew(one: Node, store: tuple[str, Any], state: str) -> None:
    (one.directory / "state").mkdir()
    (one.directory / "state" / "claim.json").write_text(state)
    claim(store, None)
    one.minute()
    assert one.published().get("ClaimUnconfirmedMinutes", 0) < 1
    assert one.runs()
