"""A canary in the process of the tests: stacks are created from their templates, and time is that of the local AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from local_aws.emr import nodes
from tests.operations.mocked_aws import ASSETS, VARIABLES
from warmbase import app
from warmbase.environments.names import CANARY_TAG
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.progress import Progress, Say
from warmbase.operations.canary import launch as launch_stages
from warmbase.operations.canary.run import Canary, open_run
from warmbase.operations.cluster.stack import status_of
from warmbase.operations.deploy import cdk, deployment
from warmbase.operations.deploy.cdk import Assembly

TODAY = "2026-12-01"


def canary_of(aws: Aws, directory: Path, progress: Progress, name: str = "dev") -> Canary:
    """Return the canary of an environment, whose unfinished run it continues."""
    read = read_environment(name)
    run = open_run(read, directory, TODAY)
    run.begin(read)
    variables = {**VARIABLES, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    return Canary(aws=aws, run=run, variables=variables, progress=progress)


def launch(aws: Aws, name: str, environment: str = "dev-canary") -> str:
    """Launch a protected cluster with the canary's tag of an environment; without a tag if that is empty."""
    group = {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1}
    nodes: Any = {"InstanceGroups": [group], "KeepJobFlowAliveWhenNoSteps": True, "TerminationProtected": True}
    request: Any = {"Name": name, "ReleaseLabel": "emr-7.14.0", "JobFlowRole": "n", "ServiceRole": "s"}
    request["Tags"] = [{"Key": CANARY_TAG, "Value": environment}] if environment else []
    return str(aws.emr.run_job_flow(**request, Instances=nodes)["JobFlowId"])


def without_cdk(patch: pytest.MonkeyPatch) -> None:
    """Synthesise in this process, and create stacks by CloudFormation's API: the CDK command line takes minutes."""

    def synthesised(arguments: tuple[str, ...], _: Mapping[str, str], __: Say) -> None:
        selected, output = arguments[2], arguments[-1]
        app.synthesise(selected.removeprefix("environment="), output)

    patch.setattr(cdk, "run_cdk", synthesised)
    for room in (launch_stages, deployment, import_module("warmbase.operations.canary.free_calls")):
        patch.setattr(room, "deploy_stack", deploy_stack)


@contextmanager
def local_nodes() -> Iterator[None]:
    """Let the programs of nodes run, which reach the mocked AWS of this process through a server on loopback."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    nodes.serve_at(f"http://{host}:{port}")
    try:
        yield
    finally:
        nodes._endpoint.clear()
        server.stop()


def deploy_stack(assembly: Assembly, stack: str, say: Say) -> str:
    """Create a stack from its template, or leave it. Raises OperationFailed where its creation fails."""
    aws = assembly.aws
    for asset in assembly.directory.glob("asset.*"):
        aws.s3.put_object(Bucket=ASSETS, Key=asset.name.removeprefix("asset."), Body=asset.read_bytes())
    if status_of(aws, stack) is None:
        aws.cloudformation.create_stack(StackName=stack, TemplateBody=json.dumps(assembly.template(stack)))
    status = status_of(aws, stack)
    say(f"{stack} {status}")
    if status not in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}:
        raise OperationFailed.of(where=f"stack {stack}", what=f"ended {status}", why="", fix="")
    return str(status)
