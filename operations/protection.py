"""Protects a cluster from termination once it runs; earlier, EMR would keep the nodes of a launch that fails."""

from __future__ import annotations

from environments.environment import Environment
from operations.aws import Aws
from operations.aws_errors import translated
from operations.description import cluster_id


def protect(aws: Aws, environment: Environment, cluster_name: str) -> str:
    """The outcome in a line. Raises OperationFailed where EMR does not answer."""
    with translated(f"could not protect cluster {cluster_name} from termination", "run the same command again"):
        identity = cluster_id(aws, environment.name, cluster_name)
        if aws.emr.describe_cluster(ClusterId=identity)["Cluster"]["TerminationProtected"]:
            return f"{identity} is already protected from termination"
        aws.emr.set_termination_protection(JobFlowIds=[identity], TerminationProtected=True)
        return f"{identity} is now protected from termination"
