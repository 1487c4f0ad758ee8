"""The server: on this machine only, gone when its caller is gone, and good enough for the real CDK CLI."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest

from local_aws.server import LocalAws, is_healthy, local_aws, local_environment, refuse_remote
from tests.local_aws.aws_bench import cluster_template
from tests.patience import HANG_SECONDS, wait_until
from warmbase.ground.errors import InvalidInput, OperationFailed

PROJECT = Path(__file__).resolve().parents[2]
CDK = PROJECT / "node_modules" / ".bin" / "cdk"


def client_of(aws: LocalAws, service: str) -> Any:
    make: Any = boto3.client
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return make(service, endpoint_url=aws.endpoint, region_name=aws.region, **keys)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://elasticmapreduce.us-east-1.amazonaws.com",
        "http://10.0.0.1:5000",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://0.0.0.0:5000",
        "",
    ],
)
def test_remote_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidInput, match="fix:"):
        refuse_remote(endpoint)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:5000", "http://localhost:1", "http://[::1]:5000", "http://127.8.8.8"]
)
def test_loopback_endpoint_is_accepted(endpoint: str) -> None:
    refuse_remote(endpoint)


def test_environment_leads_nowhere_else() -> None:
    inherited = {
        "PATH": "/bin",
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "secret",
        "AWS_ENDPOINT_URL_S3": "https://s3.amazonaws.com",
        "AWS_ACCESS_KEY_ID": "real",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        "CDK_PROFILE": "production",
    }
    environment = local_environment("http://127.0.0.1:1", "eu-central-1", inherited)
    set_for_it = {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID"}
    assert (inherited.keys() - {"PATH"} - set_for_it).isdisjoint(environment)
    assert environment["PATH"] == "/bin"
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert environment["AWS_ACCESS_KEY_ID"] != "real"
    assert environment["AWS_REGION"] == environment["AWS_DEFAULT_REGION"] == "eu-central-1"
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"


def test_remote_endpoint_gets_no_environment() -> None:
    with pytest.raises(InvalidInput):
        local_environment("https://s3.amazonaws.com", "us-east-1", {})


def test_server_serves_the_extension_and_ends() -> None:
    with local_aws() as aws:
        cloudformation = client_of(aws, "cloudformation")
        cloudformation.create_stack(StackName="stack", TemplateBody=json.dumps(cluster_template()))
        assert cloudformation.describe_stacks()["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
        emr = client_of(aws, "emr")
        assert [one["Status"]["State"] for one in emr.list_clusters()["Clusters"]] == ["WAITING"]
        assert aws.endpoint.startswith("http://127.0.0.1:")
    assert not is_healthy(aws.endpoint)
    with pytest.raises(ProcessLookupError):
        os.kill(process_of(aws), 0)


def process_of(aws: LocalAws) -> int:
    assert aws.process_id is not None
    return aws.process_id


KILLED_INSIDE = """
import os
from local_aws.server import local_aws
with local_aws(keep=KEEP) as aws:
    print(aws.endpoint, aws.process_id, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("keep", [False, True], ids=["", "though it was to be kept"])
@pytest.mark.thorough
def test_server_ends_when_its_parent_is_killed(*, keep: bool) -> None:
    command = [sys.executable, "-c", KILLED_INSIDE.replace("KEEP", str(keep))]
    parent = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    endpoint = parent.stdout.split()[0]
    assert endpoint.startswith("http://127.0.0.1:"), parent.stderr
    wait_until(lambda: not is_healthy(endpoint))


def test_stored_server_outlives_the_block() -> None:
    with local_aws(keep=True) as aws:
        pass
    try:
        assert is_healthy(aws.endpoint)
    finally:
        os.kill(process_of(aws), signal.SIGTERM)
        os.waitpid(process_of(aws), 0)
    assert not is_healthy(aws.endpoint)


@pytest.mark.thorough
def test_server_is_not_stored_when_the_block_fails() -> None:
    with ExitStack() as stack:
        endpoint = stack.enter_context(local_aws(keep=True)).endpoint
        with pytest.raises(ZeroDivisionError), stack.pop_all():
            _ = 1 // 0
    assert not is_healthy(endpoint)


ORPHANING = """
from local_aws.server import local_aws
with local_aws(keep=True) as aws:
    print(aws.endpoint, aws.process_id)
"""


@pytest.mark.thorough
def test_stored_server_lets_go_of_the_output_of_its_caller() -> None:
    caller = subprocess.run(
        [sys.executable, "-c", ORPHANING], cwd=PROJECT, capture_output=True, text=True, timeout=HANG_SECONDS, check=True
    )  # returns at the end of both outputs only
    endpoint, process_id = caller.stdout.split()
    assert is_healthy(endpoint)
    os.kill(int(process_id), signal.SIGTERM)


def die(process_id: int) -> None:
    os.kill(process_id, signal.SIGKILL)
    os.waitid(os.P_PID, process_id, os.WEXITED | os.WNOWAIT)


@pytest.mark.thorough
def test_server_that_dies_cannot_be_stored() -> None:
    with pytest.raises(OperationFailed, match="ended by itself"), local_aws(keep=True) as aws:
        die(process_of(aws))


class Stranger(BaseHTTPRequestHandler):
    """Answers whatever it is asked with a page."""

    def do_GET(self) -> None:
        """Answer with the page."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p>Welcome</p>")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_a_stranger_is_not_used_for_the_local_aws() -> None:
    with HTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        Thread(target=stranger.serve_forever, args=(0.01,), daemon=True).start()
        assert not is_healthy(f"http://127.0.0.1:{stranger.server_port}")
        stranger.shutdown()


def test_start_that_takes_too_long_is_a_problem() -> None:
    with pytest.raises(OperationFailed, match="did not start"), local_aws(start_seconds=0.0):
        pass


@pytest.mark.e2e
@pytest.mark.thorough
@pytest.mark.skipif(not CDK.exists() or shutil.which("node") is None, reason="the CDK command line is not installed")
def test_cdk_cycle(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(CDK_APP)
    (tmp_path / "cdk.json").write_text(json.dumps({"app": f"{sys.executable} app.py"}))
    with local_aws() as aws:
        cdk = CdkCommand(tmp_path, aws.environment)
        cdk.run("bootstrap", "aws://123456789012/us-east-1")
        cdk.run("deploy", "--all", "--require-approval", "never")
        assert "no changes" in cdk.run("deploy", "--all", "--require-approval", "never")
        assert "Number of stacks with differences: 0" in cdk.run("diff", "--all")
        assert "may be replaced" in cdk.run("diff", "Cluster", "-c", "count=5")
        cdk.run("deploy", "Cluster", "-c", "count=5", "--require-approval", "never")
        emr = client_of(aws, "emr")
        clusters = emr.list_clusters()["Clusters"]
        assert [one["Status"]["State"] for one in clusters] == ["WAITING"]
        groups = emr.list_instance_groups(ClusterId=clusters[0]["Id"])["InstanceGroups"]
        assert {one["InstanceGroupType"]: one["RequestedInstanceCount"] for one in groups} == {"MASTER": 1, "CORE": 5}
        cdk.run("destroy", "--all", "--force")
        buckets = client_of(aws, "s3").list_buckets()["Buckets"]
        assert any(bucket["Name"].startswith("storage-root") for bucket in buckets)


class CdkCommand:
    """The CDK CLI in one directory against one local AWS."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self.environment = environment | {
            "CDK_VALIDATION": "false",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        }

    def run(self, *arguments: str) -> str:
        """Return what the command printed; fails the test when it failed."""
        process = subprocess.run(
            [str(CDK), *arguments],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout + process.stderr


CDK_APP = """
import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2, aws_emr as emr, aws_kms as kms, aws_s3 as s3, aws_s3_assets as assets

app = cdk.App()
env = cdk.Environment(account="123456789012", region="us-east-1")


class Network(cdk.Stack):
    @property
    def availability_zones(self):
        return ["us-east-1a"]


network = Network(app, "Network", env=env)
private = ec2.SubnetConfiguration(name="private", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
vpc = ec2.Vpc(network, "Vpc", max_azs=1, nat_gateways=0, subnet_configuration=[private],
              restrict_default_security_group=False,
              gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)})
vpc.add_flow_log("FlowLog")
groups = [ec2.SecurityGroup(network, name, vpc=vpc, allow_all_outbound=False) for name in ("Primary", "Core")]
groups[0].add_ingress_rule(groups[1], ec2.Port.tcp(16000))
groups[1].add_ingress_rule(groups[0], ec2.Port.tcp(16020))

storage = cdk.Stack(app, "Storage", env=env)
key = kms.Key(storage, "Key", enable_key_rotation=True)
root = s3.Bucket(storage, "Root", encryption=s3.BucketEncryption.KMS, encryption_key=key, bucket_key_enabled=True,
                 enforce_ssl=True, block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
                 metrics=[s3.BucketMetrics(id="root", prefix="hbase/")], removal_policy=cdk.RemovalPolicy.RETAIN)

cluster = cdk.Stack(app, "Cluster", env=env)
script = assets.Asset(cluster, "Script", path="app.py")
group = emr.CfnCluster.InstanceGroupConfigProperty
emr.CfnCluster(
    cluster, "Cluster", name="blue", release_label="emr-7.10.0", service_role="service", job_flow_role="profile",
    log_uri=f"s3://{root.bucket_name}/logs/",
    bootstrap_actions=[emr.CfnCluster.BootstrapActionConfigProperty(
        name="claim",
        script_bootstrap_action=emr.CfnCluster.ScriptBootstrapActionConfigProperty(path=script.s3_object_url))],
    instances=emr.CfnCluster.JobFlowInstancesConfigProperty(
        ec2_subnet_id=vpc.isolated_subnets[0].subnet_id, keep_job_flow_alive_when_no_steps=True,
        emr_managed_master_security_group=groups[0].security_group_id,
        emr_managed_slave_security_group=groups[1].security_group_id,
        master_instance_group=group(instance_count=1, instance_type="m8g.xlarge"),
        core_instance_group=group(instance_type="r8g.2xlarge",
                                  instance_count=int(app.node.try_get_context("count") or 3))))
app.synth()
"""
