"""EMR clusters as the API launches and describes them, with the attributes and operations that moto drops.

A cluster with three primaries is protected from termination from its launch on, whatever RunJobFlow says. Source: EMR
Management Guide, emr-plan-ha-launch.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

from moto.core.responses import ActionResult, EmptyResult
from moto.emr.exceptions import ValidationException
from moto.emr.models import Application, Cluster, ElasticMapReduceBackend, Instance
from moto.emr.responses import ElasticMapReduceResponse

from local_aws import controls
from local_aws.controls import BOOTSTRAP, PROTECTED_FAILURE, control
from local_aws.emr import instance_groups, nodes
from local_aws.emr.instance_groups import plain_configurations
from local_aws.moto_internals import Json, Untyped, replace, request_parameter, wrap

NEEDS_CLUSTER = ("list_bootstrap_actions", "list_instances", "list_steps", "describe_step", "modify_cluster")
FAILED_AND_PROTECTED = "TERMINATING"
"""The state of a protected cluster whose bootstrap failed, unless a tag names another one.

EMR keeps the nodes of a protected cluster after an error (API Reference, SetTerminationProtection); no document says
which state it then reports. This is the worst case: the cluster has not ended, nothing runs on it, and whoever
waits for its end waits until somebody lifts the protection and terminates it.
"""
# moto drops these; the API's Cluster has them under the same names, except for PlacementGroups.
DROPPED_ATTRIBUTES = {
    "LogEncryptionKmsKeyId": "log_encryption_kms_key_id",
    "OSReleaseLabel": "os_release_label",
    "PlacementGroupConfigs": "placement_groups",
    "RepoUpgradeOnBoot": "repo_upgrade_on_boot",
    "ScaleDownBehavior": "scale_down_behavior",
}

ADDED_APPLICATIONS = ("Hadoop", "ZooKeeper")


def install() -> None:
    """Let moto's EMR keep and describe whole clusters, and their policies."""
    wrap(ElasticMapReduceResponse, "run_job_flow", _run_job_flow)
    wrap(ElasticMapReduceResponse, "add_instance_groups", _add_instance_groups)
    wrap(ElasticMapReduceResponse, "describe_cluster", _describe_cluster)
    wrap(ElasticMapReduceResponse, "list_instances", _list_instances)
    replace(ElasticMapReduceResponse, "list_instance_groups", _list_instance_groups)
    replace(ElasticMapReduceResponse, "modify_instance_groups", _modify_instance_groups)
    replace(ElasticMapReduceResponse, "set_unhealthy_node_replacement", _set_unhealthy_node_replacement)
    wrap(Cluster, "terminate", _terminate)
    wrap(ElasticMapReduceBackend, "_manage_security_groups", _manage_security_groups)
    for operation in NEEDS_CLUSTER:
        wrap(ElasticMapReduceResponse, operation, _require_cluster)
    Instance.status = property(_instance_status)
    for name, attribute in POLICIES.items():
        for verb in ("get", "put", "remove"):
            replace(ElasticMapReduceResponse, f"{verb}_{attribute}", _policy_operation(verb, name, attribute))
    replace(ElasticMapReduceResponse, "list_security_configurations", _list_security_configurations)


def _manage_security_groups(original: Callable[..., Untyped], backend: Untyped, **attributes: Untyped) -> Untyped:
    """Return the security groups of the request, or let moto create them: existing groups need no rules of moto's."""
    names = ("emr_managed_master_security_group", "emr_managed_slave_security_group", "service_access_security_group")
    groups = tuple(attributes.get(name) for name in names)
    return groups if all(groups) else original(backend, **attributes)


def request_body(response: Untyped) -> Json:
    """Return the API call's parameters in the API's own spelling."""
    body: Json = json.loads(response.body)
    return body


def _require_cluster(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    response.backend.describe_cluster(request_parameter(response, "ClusterId"))
    return original(response)


def _run_job_flow(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    request = request_body(response)
    if request["Instances"].get("InstanceFleets"):
        raise ValidationException("the local AWS runs instance groups, not instance fleets")
    answer = original(response)
    cluster = response.backend.clusters[answer.result["JobFlowId"]]
    for name, attribute in DROPPED_ATTRIBUTES.items():
        setattr(cluster, attribute, request.get(name))
    cluster.instance_collection_type = "INSTANCE_GROUP"
    cluster.configurations = plain_configurations(request.get("Configurations"))
    primaries = next(group.num_instances for group in cluster.instance_groups if group.role == "MASTER")
    # moto itself protects a cluster with three primaries; EMR also ignores its auto-termination policy.
    cluster.auto_termination_policy = None if primaries > 1 else request.get("AutoTerminationPolicy")
    cluster.managed_scaling_policy = request.get("ManagedScalingPolicy")
    cluster.unhealthy_node_replacement = request["Instances"].get("UnhealthyNodeReplacement", True)
    for group, submitted in zip(cluster.instance_groups, request["Instances"].get("InstanceGroups", []), strict=False):
        instance_groups.configure(group, submitted.get("Configurations"))
    failed = None
    if control(cluster, BOOTSTRAP) == "fail":
        failed = "On the master instance, bootstrap action 1 returned a non-zero return code"
    elif nodes.has_nodes():
        try:
            nodes.run_on_primaries(cluster.id, response.region, request, primaries)
        except nodes.Failed as failure:
            failed = str(failure)
    if failed:
        cluster.last_state_change_reason = failed
        if cluster.termination_protected:
            cluster.state = control(cluster, PROTECTED_FAILURE) or FAILED_AND_PROTECTED
        else:
            cluster.terminate()
            cluster.state = "TERMINATED_WITH_ERRORS"
    return answer


def _add_instance_groups(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    request = request_body(response)
    cluster = response.backend.describe_cluster(request["JobFlowId"])
    added = original(response).result["InstanceGroups"]
    for group, submitted in zip(added, request["InstanceGroups"], strict=True):
        instance_groups.configure(group, submitted.get("Configurations"))
    ids = [group.id for group in added]
    return ActionResult({"JobFlowId": cluster.id, "InstanceGroupIds": ids, "ClusterArn": cluster.arn})


def _describe_cluster(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    answer = original(response)
    if controls.are_worse():
        described = answer.result["Cluster"] = copy.copy(answer.result["Cluster"])
        names = {application.name.lower() for application in described.applications}
        more = [Application(name, "0", [], {}) for name in ADDED_APPLICATIONS if name.lower() not in names]
        described.applications = [*described.applications, *more]
        described.log_uri = described.log_uri and described.log_uri.replace("s3://", "s3n://")
        if described.state in instance_groups.ENDED:
            described._tags = {}  # noqa: SLF001 - the property has no setter
    return answer


def _list_instance_groups(response: Untyped) -> Untyped:
    cluster = response.backend.describe_cluster(request_parameter(response, "ClusterId"))
    snapshots = [
        {
            "Id": group.id,
            "Name": group.name,
            "Market": group.market,
            "InstanceGroupType": group.role,
            "BidPrice": group.bid_price,
            "InstanceType": group.instance_type,
            "RequestedInstanceCount": group.requested_instance_count,
            "RunningInstanceCount": 0 if group.state == "TERMINATED" else group.running_instance_count,
            "Status": group.status,
            "Configurations": group.configurations,
            "ConfigurationsVersion": instance_groups.visible_version(group),
            "LastSuccessfullyAppliedConfigurations": group.last_successfully_applied_configurations,
            "LastSuccessfullyAppliedConfigurationsVersion": group.last_successfully_applied_configurations_version,
            "EbsBlockDevices": group.ebs_block_devices,
            "EbsOptimized": group.ebs_optimized,
            "AutoScalingPolicy": group.auto_scaling_policy,
            "CustomAmiId": group.custom_ami_id,
        }
        for group in cluster.instance_groups
    ]
    for group in cluster.instance_groups:
        instance_groups.settle(cluster, group)
    return ActionResult({"InstanceGroups": snapshots})


def _list_instances(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    answer = original(response)
    states = request_parameter(response, "InstanceStates")
    if states:
        instances = answer.result["Instances"]
        answer.result["Instances"] = [one for one in instances if one.status["State"] in states]
    return answer


def _modify_instance_groups(response: Untyped) -> Untyped:
    for change in request_body(response).get("InstanceGroups", []):
        instance_groups.modify(response.backend, change)
    return EmptyResult()


def _set_unhealthy_node_replacement(response: Untyped) -> Untyped:
    request = request_body(response)
    for cluster_id in request["JobFlowIds"]:
        response.backend.describe_cluster(cluster_id).unhealthy_node_replacement = request["UnhealthyNodeReplacement"]
    return EmptyResult()


def _terminate(original: Callable[..., None], cluster: Untyped) -> None:
    original(cluster)
    for group in cluster.instance_groups:
        group.state, group.end_date_time, group.settles_as = "TERMINATED", cluster.end_datetime, None
    if cluster.ec2_instances:
        cluster.emr_backend.ec2_backend.terminate_instances([one.ec2_instance_id for one in cluster.ec2_instances])


def _instance_status(instance: Untyped) -> Json:
    group = instance.instance_group
    ended_at = getattr(instance, "ended_at", None) or group.end_date_time
    return {
        "State": "TERMINATED" if ended_at else "RUNNING",
        "StateChangeReason": {},
        "Timeline": {
            "CreationDateTime": group.creation_date_time,
            "ReadyDateTime": group.ready_date_time,
            "EndDateTime": ended_at,
        },
    }


POLICIES = {"ManagedScalingPolicy": "managed_scaling_policy", "AutoTerminationPolicy": "auto_termination_policy"}


def _policy_operation(verb: str, name: str, attribute: str) -> Callable[[Untyped], Untyped]:
    def operation(response: Untyped) -> Untyped:
        request = request_body(response)
        cluster = response.backend.describe_cluster(request["ClusterId"])
        if verb == "get":
            return ActionResult({name: getattr(cluster, attribute, None)})
        setattr(cluster, attribute, request[name] if verb == "put" else None)
        return EmptyResult()

    return operation


def _list_security_configurations(response: Untyped) -> Untyped:
    configurations = response.backend.security_configurations.values()
    return ActionResult(
        {
            "SecurityConfigurations": [
                {"Name": one.name, "CreationDateTime": one.creation_date_time} for one in configurations
            ]
        },
    )
