"""Deploy, change, reconfigure, drift, tear down and destroy, by the commands that a user types, on a local AWS.

The primaries run their claim, as it was uploaded; steps run beside stand-ins of `hbase` and `hdfs`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from local_aws.server import LocalAws, local_aws
from tests.command import PROCESS
from tests.operations.deployed import WHEN, Cut
from tests.operations.killable import Killed
from tests.operations.mocked_aws import create
from tests.patience import HANG_SECONDS
from warmbase.app import synthesise
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.protection import protect
from warmbase.operations.cluster.stack import status_of
from warmbase.operations.deploy import teardown as teardown_steps
from warmbase.operations.deploy.cdk import Assembly, run_cdk
from warmbase.operations.deploy.change_set import deploy_stack
from warmbase.operations.deploy.deployment import deployment, proposal
from warmbase.operations.deploy.pinning import pin
from warmbase.operations.deploy.teardown import teardown
from warmbase.stacks.pinned import read_templates

PROJECT = Path(__file__).parents[2]
TAGS = "tags: {purpose: rehearsal}\n"

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]


class Account(Struct, frozen=True, dict=True):
    """A bootstrapped account on this machine, and the file of one environment in it."""

    local: LocalAws
    file: Path

    @property
    def aws(self) -> Aws:
        """Clients, made anew: as a new process has them."""
        return Aws(self.local.environment, any_call)

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs warmbase, as typed."""
        done = subprocess.run(
            [*PROCESS, *arguments],
            cwd=PROJECT,
            env=self.local.environment | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done

    def states(self) -> dict[str, str]:
        """Return the state of every cluster there ever was."""
        return {cluster["Id"]: cluster["Status"]["State"] for cluster in self.aws.emr.list_clusters()["Clusters"]}

    def running(self) -> list[str]:
        """Return the clusters that run."""
        return [identity for identity, state in self.states().items() if state == "WAITING"]

    def holder(self) -> str:
        """Return the cluster that the claim of this environment's root names."""
        name = self.file.stem
        body = self.aws.s3.get_object(
            Bucket=f"warmbase-{name}-root-123456789012-us-east-1", Key="hbase.warmbase-claim"
        )["Body"].read()
        return str(json.loads(body)["cluster"])

    def edit(self, old: str, new: str) -> None:
        """Return the file by now."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new, 1))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with local_aws() as aws:
        output = str(tmp_path_factory.mktemp("bootstrap"))
        run_cdk(("bootstrap", "-c", "environment=dev", "--output", output), aws.environment)
        yield aws


def account(local: LocalAws, directory: Path, name: str) -> Account:
    text = (PROJECT / "environments/dev.yaml").read_text().replace("name: dev", f"name: {name}")
    file = directory / f"{name}.yaml"
    file.write_text(f"{text}\n{TAGS}")
    return Account(local, file)


def test_a_cluster_from_its_first_deployment_to_its_end(local: LocalAws, tmp_path: Path) -> None:
    here = account(local, tmp_path, "whole")
    name = str(here.file)
    # Nothing is done without a yes, nor by a dry run.
    dry = here.run("deploy", name, "--dry-run")
    assert "warmbase-whole-blue-cluster: new," in dry.stdout
    assert "blue: a new cluster, " in dry.stdout
    assert "nothing was changed" in here.run("deploy", name, code=2).stderr
    assert here.running() == []
    here.run("deploy", name, "--yes")
    [first] = here.running()
    assert here.holder() == first
    assert (tmp_path / "whole.launch/blue/launch.json").exists()
    assert here.aws.emr.describe_cluster(ClusterId=first)["Cluster"]["TerminationProtected"]
    here.run("pin", name, "--check")
    assert "Nothing to deploy." in here.run("deploy", name, "--yes").stdout
    # Five things are changed: two of the stacks, three of the cluster.
    here.edit("tags: {", "tags: {team: data, ")
    here.edit("clusters:", "access: {cidrs: [10.9.0.0/16]}\nclusters:")
    here.edit("clusters:", "overrides: {hbase-site: {hbase.rpc.timeout: '90000'}}\nclusters:")
    here.edit("200 GiB", "300 GiB")
    reviews_and_applies(here, name, str(tmp_path / "whole.proposal.json"))
    assert here.running() == [first]
    assert "nothing to tune" in here.run("reconfigure", name, "--yes").stdout
    # Drift by hand.
    here.aws.cloudwatch.delete_alarms(AlarmNames=["warmbase-whole-blue-core-node-missing"])
    drift = here.run("diff", name, "--against", "live").stdout
    assert "AWS::CloudWatch::Alarm: deleted" in " ".join(drift.split())
    shown = here.run("status", name)
    assert f"{first}, WAITING" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    document: Any = json.loads(here.run("status", name, "--output", "json").stdout)
    assert document["claim"]["cluster"] == first
    # A replica beside it, torn down again, leaves the first and its claim alone.
    here.edit("  blue:", "  green: {role: replica, primaries: 1, core: {families: [m8g, r8g, m7g]}}\n  blue:")
    here.run("deploy", name, "--yes")
    [second] = set(here.running()) - {first}
    here.run("teardown", name, "green", "--yes")
    assert (here.running(), here.holder()) == ([first], first)
    assert here.states()[second] == "TERMINATED"
    # The end: destroy waits for teardown.
    refused = here.run("destroy", name, "--yes", code=3)
    assert f"cluster blue  is running: {first} is WAITING" in refused.stderr
    here.run("teardown", name, "blue", "--yes")
    assert here.running() == []
    assert "the root is free" in here.run("claim", name).stdout
    assert not (tmp_path / "whole.launch").exists()
    here.run("destroy", name, "--yes")
    left = [stack["StackName"] for stack in here.aws.cloudformation.describe_stacks()["Stacks"]]
    assert [each for each in left if each.startswith("warmbase-whole-")] == ["warmbase-whole-storage"]


def reviews_and_applies(here: Account, name: str, saved: str) -> None:
    """Save a proposal, which is refused after an edit, and apply the next one."""
    here.run("deploy", name, "--save", saved)
    here.edit("per_second: 200", "per_second: 300")
    refused = here.run("deploy", name, "--apply", saved, code=3)
    assert "the proposal  is out of date, so nothing was changed" in refused.stderr
    here.run("deploy", name, "--save", saved)
    dry = here.run("reconfigure", name, "--dry-run")
    assert "hbase-site hbase.rpc.timeout, an override" in dry.stdout
    here.run("deploy", name, "--apply", saved)


def test_a_deployment_goes_on_from_wherever_it_was_ended(local: LocalAws, tmp_path: Path) -> None:
    """Every step of the enumeration is ended three times: never a second cluster, nor one without its claim."""
    here = account(local, tmp_path, "cut")
    assembly = Assembly(name=str(here.file), aws=here.aws, variables=local.environment, directory=tmp_path / "cdk.out")
    found = proposal(assembly, Cut(), dry_run=False)
    steps = list(deployment(assembly, found))
    assert [step.title.rpartition(" ")[2] for step in steps[:3]] == [
        f"warmbase-cut-{stack}" for stack in ("network", "storage", "blue-cluster")
    ]
    clusters: list[str] = []
    for at, when in product(range(len(steps)), WHEN):
        with suppress(Killed):
            carry_out(deployment(assembly, found), Cut(at, when))
        mine = [each for each in here.running() if _named(here, each, "warmbase-cut-blue")]
        assert len(mine) <= 1
        clusters = clusters or mine
        assert clusters == mine, "the cluster stays the one it was"
        if mine:
            assert here.holder() == mine[0]
    carry_out(deployment(assembly, found), Cut())
    again = proposal(replace(assembly, directory=tmp_path / "again"), Cut(), dry_run=False)
    assert again.empty
    assert list(again.records) == ["blue"]
    refuses_what_would_replace_it(here, assembly, clusters)


def refuses_what_would_replace_it(here: Account, assembly: Assembly, clusters: list[str]) -> None:
    """Deploy a copy of the file without its record: warmbase refuses the change set, and then the stack policy does."""
    stack, elsewhere = "warmbase-cut-blue-cluster", assembly.directory.parent / "elsewhere"
    elsewhere.mkdir()
    copy = elsewhere / here.file.name
    copy.write_text(here.file.read_text().replace("emr-7.14.0", "emr-7.13.0"))
    assembly = replace(assembly, name=str(copy), directory=elsewhere / "cdk.out")
    assembly.synthesise(lambda _: None)
    with pytest.raises(Refused, match=r"would remove resources(.|\n)*Cluster, AWS::EMR::Cluster: replacement true"):
        deploy_stack(assembly, stack, lambda _: None)
    here.aws.cloudformation.update_stack(
        StackName=stack, TemplateBody=json.dumps(assembly.template(stack)), Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    [events] = [here.aws.cloudformation.describe_stack_events(StackName=stack)["StackEvents"]]
    assert any("Action denied by stack policy" in event.get("ResourceStatusReason", "") for event in events)
    assert [each for each in here.running() if _named(here, each, "warmbase-cut-blue")] == clusters


def _named(here: Account, identity: str, name: str) -> bool:
    return bool(here.aws.emr.describe_cluster(ClusterId=identity)["Cluster"]["Name"] == name)


@pytest.mark.parametrize("step", ["cluster", "record"])
def test_a_process_that_is_killed_is_taken_up_by_the_next(step: str, local: LocalAws, tmp_path: Path) -> None:
    here = account(local, tmp_path, f"kill{step}"[:15])
    title = {"cluster": "-blue-cluster ...", "record": "write its launch record ..."}[step]
    process = subprocess.Popen(
        [*PROCESS, "deploy", str(here.file), "--yes"],
        cwd=PROJECT,
        env=local.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith(title):
            if step == "cluster":
                time.sleep(0.7)  # somewhere in what the CDK command line does for this step
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(HANG_SECONDS)
    process.stderr.close()
    refused = here.run("deploy", str(here.file), "--yes", code=3)
    token = re.findall(r"token (\w+)", here.run("unlock", str(here.file), "--yes", code=2).stderr)[0]
    assert "warmbase unlock" in refused.stderr
    here.run("unlock", str(here.file), "--yes", "--token", token)
    here.run("deploy", str(here.file), "--yes")
    mine = [each for each in here.running() if _named(here, each, f"warmbase-{here.file.stem}-blue")]
    assert [here.holder()] == mine
    here.run("pin", str(here.file), "--check")


def deployed(local: LocalAws, directory: Path, name: str) -> tuple[Account, Environment, str]:
    """Return an account with that environment in it, and the id of its cluster.

    CloudFormation creates the stacks from their templates. The tests above deploy with the CDK command line, which
    takes three quarters of the time of a deployment.
    """
    here = account(local, directory, name)
    assembly = synthesise(str(here.file), str(directory / "cdk.out")).assembly
    create(here.aws, name, assembly, read_templates(assembly))
    environment = read_environment(str(here.file))
    pin(here.aws, environment, "blue")
    protect(here.aws, name, "blue")
    [mine] = [each for each in here.running() if _named(here, each, f"warmbase-{name}-blue")]
    return here, environment, mine


def test_a_teardown_goes_on_from_wherever_it_was_ended(local: LocalAws, tmp_path: Path) -> None:
    here, environment, mine = deployed(local, tmp_path, "end")
    steps = len(list(teardown(here.aws, environment, "blue")))
    assert steps == 11
    for at, when in product(range(steps), WHEN):
        with suppress(Killed):
            carry_out(teardown(here.aws, environment, "blue"), Cut(at, when))
        if here.states()[mine] == "WAITING":
            assert here.holder() == mine, "a cluster that runs keeps its claim"
    carry_out(teardown(here.aws, environment, "blue"), Cut())
    assert here.states()[mine] == "TERMINATED"
    assert here.holder() == "nobody"
    assert not (tmp_path / f"{environment.name}.launch").exists()


def test_a_failed_launch_of_three_primaries_is_named_ended_and_launched_again(local: LocalAws, tmp_path: Path) -> None:
    """Another cluster claims the root while plain CDK launches: the claim refuses, and EMR keeps the nodes."""
    here = account(local, tmp_path, "three")
    here.edit("primaries: 1", "primaries: 3")
    name, stack = str(here.file), "warmbase-three-blue-cluster"
    group = {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1}
    alone: Any = {"Name": "theirs", "Instances": {"InstanceGroups": [group], "KeepJobFlowAliveWhenNoSteps": True}}
    theirs = here.aws.emr.run_job_flow(**alone)["JobFlowId"]
    cdk = ("deploy", "-c", f"environment={name}", "--output", str(tmp_path / "cdk.out"), "--require-approval", "never")
    run_cdk((*cdk, "warmbase-three-storage"), local.environment)
    claim = {"cluster": theirs, "region": "us-east-1", "account": "123456789012", "claimed_at": "2026-11-20"}
    here.aws.s3.put_object(
        Bucket="warmbase-three-root-123456789012-us-east-1",
        Key="hbase.warmbase-claim",
        Body=json.dumps(claim).encode(),
        IfNoneMatch="*",
    )
    with pytest.raises(OperationFailed):
        run_cdk((*cdk, stack), local.environment)
    assert status_of(here.aws, stack) == "ROLLBACK_FAILED"
    [failed] = [each for each in here.states() if _named(here, each, "warmbase-three-blue")]
    shown = " ".join(here.run("status", name).stdout.split())
    assert f"{failed} is TERMINATING and may keep its nodes (3 x " in shown
    assert "`warmbase deploy three` and `warmbase destroy three` ask, and then end it" in shown
    assert "nothing was changed" in here.run("deploy", name, code=2).stderr
    assert here.states()[failed] == "TERMINATING"
    here.aws.emr.terminate_job_flows(JobFlowIds=[theirs])
    here.run("deploy", name, "--yes")
    assert here.states()[failed] == "TERMINATED"
    [second] = [each for each in here.running() if _named(here, each, "warmbase-three-blue")]
    assert here.holder() == second
    assert status_of(here.aws, stack) == "CREATE_COMPLETE"
    here.run("pin", name, "--check")


REFUSALS = {
    "enabled": "tables are still enabled: stand-in-users",
    "servers": "RegionServers are still running: stand-in-1,16020,1762500000000, stand-in-2,16020,1762500000001",
    "unit": "units are still running: hbase-regionserver on i-",
    "wal": "is not empty: it holds hdfs://stand-in:8020/user/hbase/WALs/stand-in-1",
}


def test_a_teardown_refuses_at_the_first_step_that_would_lose_something(
    local: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teardown_steps, "STOP_SECONDS", 0)
    here, environment, mine = deployed(local, tmp_path, "keep")
    for state, refusal in REFUSALS.items():
        here.aws.emr.add_tags(ResourceId=mine, Tags=[{"Key": "local-aws:hbase", "Value": state}])
        with pytest.raises(Refused) as caught:
            carry_out(teardown(here.aws, environment, "blue"), Cut())
        assert refusal in str(caught.value)
        assert here.aws.emr.describe_cluster(ClusterId=mine)["Cluster"]["TerminationProtected"]
        assert here.holder() == mine


def test_data_on_nodes_are_not_given_up_without_a_verified_export(local: LocalAws, tmp_path: Path) -> None:
    here = account(local, tmp_path, "nodes")
    here.edit("tags:", "storage: {mode: hdfs}\ntags:")
    here.edit("purpose: rehearsal", "'local-aws:hbase': unexported")
    name = str(here.file)
    here.run("deploy", name, "--yes")
    done = here.run("teardown", name, "blue", "--yes", code=3)
    assert "has the only copy of the data, on its nodes" in done.stderr
    done = here.run("teardown", name, "blue", "--exported", "s3://our-backups/hbase/", "--yes", code=3)
    assert "has no complete snapshot of stand_in:events" in done.stderr
    [mine] = [each for each in here.running() if _named(here, each, "warmbase-nodes-blue")]
    here.aws.emr.remove_tags(ResourceId=mine, TagKeys=["local-aws:hbase"])
    here.run("teardown", name, "blue", "--exported", "s3://our-backups/hbase/", "--yes")
    assert here.states()[mine] == "TERMINATED"
