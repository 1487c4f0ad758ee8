"""The commands reach the same end where AWS behaves as the worse reading of its documents says.

Where a statement of docs/unconfirmed.md has two readings, `local_aws.controls` names both. Here the local AWS plays the
worse one of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from local_aws import controls
from local_aws.controls import READINGS
from local_aws.emr.instance_groups import visible_version
from local_aws.resources.emr import update_flags
from local_aws.server import LocalAws, local_aws
from tests.operations.test_deploy_end_to_end import account
from warmbase.operations.deploy.cdk import run_cdk
from warmbase.operations.verify.check import PAGE, read_statements


def test_each_reading_belongs_to_a_statement_of_the_page_and_is_shown_there() -> None:
    statements = [statement.what for statement in read_statements()]
    text = PAGE.read_text(encoding="utf-8")
    for reading in READINGS:
        assert any(what.startswith(reading.statement) for what in statements), reading.statement
        usual = reading.usual or "the worse reading, always"
        assert re.search(
            rf"^\| {re.escape(reading.statement)}[^|]* \| {re.escape(usual)} \| {re.escape(reading.worse)} \|$",
            text,
            re.MULTILINE,
        ), reading


@pytest.mark.parametrize(
    ("are_worse", "state", "shown"), [(False, "RECONFIGURING", 3), (True, "RECONFIGURING", 2), (True, "RUNNING", 3)]
)
def test_the_worse_version_of_the_settings_moves_only_when_they_are_applied(
    monkeypatch: pytest.MonkeyPatch, state: str, shown: int, *, are_worse: bool
) -> None:
    monkeypatch.setattr(controls, "are_worse", lambda: are_worse)
    assert visible_version(SimpleNamespace(state=state, configurations_version=3)) == shown


@pytest.mark.parametrize("are_worse", [False, True])
def test_an_update_of_a_stack_lifts_the_protection_only_in_the_worse_reading(
    monkeypatch: pytest.MonkeyPatch, *, are_worse: bool
) -> None:
    calls = []
    monkeypatch.setattr(controls, "are_worse", lambda: are_worse)
    properties = {"Instances": {"Ec2SubnetId": "subnet-1"}}
    update_flags(lambda call, **_: calls.append(call), "j-1", properties, {**properties, "Tags": []})
    assert ("set_termination_protection" in calls) == are_worse


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with local_aws(readings="worse") as aws:
        output = str(tmp_path_factory.mktemp("bootstrap"))
        run_cdk(("bootstrap", "-c", "environment=dev", "--output", output), aws.environment)
        yield aws


@pytest.mark.e2e
@pytest.mark.thorough
def test_a_cluster_is_deployed_reconfigured_restarted_and_removed_under_the_worse_readings(
    worse: LocalAws, tmp_path: Path
) -> None:
    here = account(worse, tmp_path, "worse")
    name = str(here.file)
    here.run("deploy", name, "--yes")
    [first] = here.running()
    assert here.holder() == first
    here.run("pin", name, "--check")
    assert "Nothing to deploy." in here.run("deploy", name, "--yes").stdout
    # An update of the stack lifts the protection of the cluster.
    here.edit("tags: {", "tags: {team: data, ")
    here.run("deploy", name, "--yes")
    assert here.aws.emr.describe_cluster(ClusterId=first)["Cluster"]["TerminationProtected"]
    here.edit("clusters:", "overrides: {hbase-site: {hbase.rpc.timeout: '90000'}}\nclusters:")
    here.run("reconfigure", name, "--yes")
    assert "nothing to tune" in here.run("reconfigure", name, "--yes").stdout
    here.run("restart", name, "--rolling", "--yes")
    raised = here.run("warm", "boost", name, "--for", "15min", "--yes")
    assert "volumes raised until" in " ".join((raised.stdout + raised.stderr).split())
    # EC2 still shows the volumes as they were before.
    here.run("warm", "boost", name, "--end", "--yes")
    assert "no cache volume is raised" in here.run("warm", "boost", name, "--end").stdout
    here.run("teardown", name, "blue", "--yes")
    assert here.running() == []
    # The root is free for the next cluster, although EMR has forgotten the tags of the first.
    here.run("deploy", name, "--yes")
    [second] = here.running()
    assert here.holder() == second
    here.run("teardown", name, "blue", "--yes")
    here.run("destroy", name, "--yes")
    assert here.states()
