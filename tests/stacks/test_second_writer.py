"""A second writer that no check of ours has stopped: the node's own claim does, and the first goes on untouched.

Deployed by CloudFormation alone to a local AWS that runs the claim, as it was uploaded, on each primary.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from local_aws.server import LocalAws, local_aws
from tests.local_aws.test_local_aws_server import client_of
from warmbase import app

PROJECT = Path(__file__).parents[2]
ASSETS = "cdk-hnb659fds-assets-123456789012-us-east-1"
BLUE = "warmbase-dev-blue-cluster"
GREEN = "warmbase-dev-green-cluster"

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]


class Deployed(Struct, frozen=True, dict=True):
    """Blue runs, and holds the root."""

    aws: LocalAws
    blue: str

    @property
    def emr(self) -> Any:
        """EMR, as anybody may ask it."""
        return client_of(self.aws, "emr")

    @property
    def cloudformation(self) -> Any:
        """CloudFormation, past all that is ours."""
        return client_of(self.aws, "cloudformation")

    @property
    def s3(self) -> Any:
        """Return the client of S3."""
        return client_of(self.aws, "s3")

    def states(self) -> dict[str, str]:
        """Return the state of every cluster there ever was, by id."""
        return {cluster["Id"]: cluster["Status"]["State"] for cluster in self.emr.list_clusters()["Clusters"]}

    def holder(self) -> str:
        """Return the cluster that the claim names."""
        claim = self.s3.get_object(Bucket=_root(), Key="hbase.warmbase-claim")["Body"].read()
        return str(json.loads(claim)["cluster"])

    def stack_status(self, name: str) -> str:
        """Return how the last operation on a stack ended."""
        [stack] = self.cloudformation.describe_stacks(StackName=name)["Stacks"]
        return str(stack["StackStatus"])

    def cluster_failure(self, name: str) -> str:
        """Why CloudFormation says that the cluster came to nothing."""
        events = self.cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        failed = (event for event in events if event["ResourceStatus"].endswith("_FAILED"))
        return str(next(each["ResourceStatusReason"] for each in failed if each["LogicalResourceId"] == "Cluster"))

    def primary_output(self, cluster: str) -> str:
        """Return what its claim said, where EMR keeps it."""
        logs = f"warmbase-dev-logs-{self.account}-us-east-1"
        listed = self.s3.list_objects_v2(Bucket=logs, Prefix=f"emr/{cluster}/node/")["Contents"]
        [key] = [each["Key"] for each in listed if each["Key"].endswith("bootstrap-actions/1/stderr.gz")]
        return gzip.decompress(self.s3.get_object(Bucket=logs, Key=key)["Body"].read()).decode()

    account = "123456789012"


def _root() -> str:
    return f"warmbase-dev-root-{Deployed.account}-us-east-1"


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    with local_aws() as aws:
        assembly = synthesised(tmp_path, "first")
        upload(aws, assembly)
        for stack in ("warmbase-dev-network", "warmbase-dev-storage", BLUE):
            create(aws, stack, (assembly / f"{stack}.template.json").read_text())
        found = client_of(aws, "emr").list_clusters()["Clusters"]
        held = Deployed(aws, found[0]["Id"])
        assert held.states() == {held.blue: "WAITING"}, held.primary_output(held.blue)
        yield held


def synthesised(directory: Path, name: str, old: str = "", new: str = "") -> Path:
    """Synthesise environments/dev.yaml with one change and without a record."""
    place = directory / name
    place.mkdir()
    text = (PROJECT / "environments/dev.yaml").read_text().replace(old, new)
    (place / "dev.yaml").write_text(text)
    return app.synthesise(str(place / "dev.yaml"), str(place / "cdk.out")).assembly


def upload(aws: LocalAws, assembly: Path) -> None:
    """Every file that CDK's command line would: scripts and programs under the names of their content."""
    s3 = client_of(aws, "s3")
    s3.create_bucket(Bucket=ASSETS)
    for file in assembly.glob("asset.*"):
        s3.put_object(Bucket=ASSETS, Key=file.name.removeprefix("asset."), Body=file.read_bytes())


def create(aws: LocalAws, stack: str, template: str) -> None:
    client_of(aws, "cloudformation").create_stack(
        StackName=stack, TemplateBody=template, Capabilities=["CAPABILITY_NAMED_IAM"]
    )


def test_a_second_active_cluster_dies_and_the_first_is_untouched(deployed: Deployed, tmp_path: Path) -> None:
    """A copy of the template under other names, deployed by hand: no file, no record, no check of ours sees it."""
    assert deployed.holder() == deployed.blue
    before = deployed.emr.describe_cluster(ClusterId=deployed.blue)["Cluster"]
    template = (tmp_path / "first/cdk.out" / f"{BLUE}.template.json").read_text()
    copied = template.replace("dev-blue", "dev-green").replace("/dev/blue/", "/dev/green/")
    create(deployed.aws, GREEN, copied)
    [green] = deployed.states().keys() - {deployed.blue}
    assert deployed.states() == {deployed.blue: "WAITING", green: "TERMINATED_WITH_ERRORS"}
    assert deployed.stack_status(GREEN) == "ROLLBACK_COMPLETE"
    assert "bootstrap action 1 returned a non-zero return code" in deployed.cluster_failure(GREEN)
    said = deployed.primary_output(green)
    assert f"the root is claimed by {deployed.blue} in us-east-1 of account 123456789012, which is WAITING" in said
    assert f"fix: terminate {deployed.blue} first" in said
    assert deployed.holder() == deployed.blue
    assert deployed.emr.describe_cluster(ClusterId=deployed.blue)["Cluster"] == before


def test_a_replacement_of_an_unrecorded_cluster_dies_and_the_first_is_untouched(
    deployed: Deployed, tmp_path: Path
) -> None:
    """Another release in the file, no launch record: CloudFormation starts the new before it ends the old."""
    later = synthesised(tmp_path, "later", "emr-7.14.0", "emr-7.13.0")
    upload(deployed.aws, later)
    deployed.cloudformation.update_stack(
        StackName=BLUE,
        TemplateBody=(later / f"{BLUE}.template.json").read_text(),
        Capabilities=["CAPABILITY_NAMED_IAM"],
    )
    [second] = deployed.states().keys() - {deployed.blue}
    assert deployed.states() == {deployed.blue: "WAITING", second: "TERMINATED_WITH_ERRORS"}
    assert deployed.stack_status(BLUE) == "UPDATE_ROLLBACK_COMPLETE"
    assert f"claimed by {deployed.blue}" in deployed.primary_output(second)
    assert deployed.holder() == deployed.blue
    assert deployed.emr.describe_cluster(ClusterId=deployed.blue)["Cluster"]["ReleaseLabel"] == "emr-7.14.0"


def test_once_the_first_is_terminated_a_second_may_claim(deployed: Deployed, tmp_path: Path) -> None:
    deployed.emr.set_termination_protection(JobFlowIds=[deployed.blue], TerminationProtected=False)
    deployed.emr.terminate_job_flows(JobFlowIds=[deployed.blue])
    template = (tmp_path / "first/cdk.out" / f"{BLUE}.template.json").read_text()
    create(deployed.aws, GREEN, template.replace("dev-blue", "dev-green").replace("/dev/blue/", "/dev/green/"))
    [green] = deployed.states().keys() - {deployed.blue}
    assert deployed.stack_status(GREEN) == "CREATE_COMPLETE"
    assert deployed.holder() == green
    assert f"{deployed.blue} had it, and is TERMINATED" in deployed.primary_output(green)
