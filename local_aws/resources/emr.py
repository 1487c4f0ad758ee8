"""The AWS::EMR types: clusters, security configurations and WAL workspaces."""

from __future__ import annotations

import json

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError
from moto.emr.models import emr_backends

from local_aws import controls, moto_internals
from local_aws.emr.instance_groups import api_configurations, settle
from local_aws.moto_internals import Json, Untyped
from local_aws.resources import ApiResource, ApiType, CreationFailed, ResourceRequest
from warmbase.emr.cluster_state import ENDED

ROLES = {"MasterInstanceGroup": "MASTER", "CoreInstanceGroup": "CORE", "TaskInstanceGroups": "TASK"}
FLEETS = frozenset({"MasterInstanceFleet", "CoreInstanceFleet", "TaskInstanceFleets"})


class ClusterType(ApiType):
    """A type that creates clusters by RunJobFlow, and updates each property by its own operation."""

    attributes = frozenset({"Id", "MasterPublicDNS"})

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new cluster, WAITING; raises CreationFailed when its bootstrap failed."""
        answer = moto_internals.call("emr", request.region, "run_job_flow", **job_flow(request.properties))
        cluster = emr_backends[request.account_id][request.region].clusters[answer["JobFlowId"]]
        if cluster.state not in {"RUNNING", "WAITING"}:
            raise CreationFailed(cluster, f"Cluster {cluster.id} failed: {cluster.last_state_change_reason}")
        cluster.template_properties = request.properties
        return cluster

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same cluster with its tags, policies, protections and counts as requested."""
        old, new = resource.template_properties, request.properties
        _update_flags(resource.id, request.region, old, new)
        _update_policies(resource.id, request.region, new)
        _update_tags(resource.id, request.region, old, new)
        for change in count_changes(resource, old.get("Instances", {}), new.get("Instances", {})):
            moto_internals.call(
                "emr", request.region, "modify_instance_groups", ClusterId=resource.id, InstanceGroups=[change]
            )
            settle(resource, resource.emr_backend.instance_groups[change["InstanceGroupId"]])
        resource.template_properties = new
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Terminate the cluster; EMR refuses while it is termination protected."""
        if resource.state not in ENDED:
            moto_internals.call("emr", request.region, "terminate_job_flows", JobFlowIds=[resource.id])


def cluster_attribute(cluster: Untyped, name: str) -> str:
    """Return an attribute of a cluster for Fn::GetAtt."""
    if name == "Id":
        return str(cluster.id)
    if name == "MasterPublicDNS":
        return str(cluster.master_public_dns_name)
    raise UnformattedGetAttTemplateException


def job_flow(properties: Json) -> Json:
    """Return the parameters of RunJobFlow for the properties of a template."""
    parameters = {key: value for key, value in properties.items() if key not in {"Instances", "Configurations"}}
    parameters["Configurations"] = api_configurations(properties.get("Configurations", []))
    parameters["Instances"] = _instances(properties["Instances"])
    return parameters


def instance_group(role: str, properties: Json) -> Json:
    """Return one instance group in the API's spelling."""
    parameters = {**properties, "InstanceRole": role}
    if "Configurations" in properties:
        parameters["Configurations"] = api_configurations(properties["Configurations"])
    return parameters


def _instances(properties: Json) -> Json:
    fleets = sorted(FLEETS & properties.keys())
    if fleets:
        raise ValidationError(message=f"the local AWS runs instance groups, not {', '.join(fleets)}")
    if "Ec2SubnetIds" in properties:
        # The worse reading: EMR's API Reference says only that the list applies to instance fleets.
        raise ValidationError(message="Ec2SubnetIds applies to instance fleets; with instance groups, use Ec2SubnetId")
    parameters = {key: value for key, value in properties.items() if key not in ROLES}
    parameters["InstanceGroups"] = [instance_group(role, one) for role, one in _groups(properties)]
    return parameters


def _groups(properties: Json) -> list[tuple[str, Json]]:
    groups: list[tuple[str, Json]] = []
    for key, role in ROLES.items():
        value = properties.get(key, [])
        groups.extend((role, one) for one in (value if isinstance(value, list) else [value]))
    return groups


def count_changes(cluster: Untyped, old: Json, new: Json) -> list[Json]:
    """Return one entry of ModifyInstanceGroups for each group whose count in the template changed."""
    pairs = zip(cluster.instance_groups, _groups(old), _groups(new), strict=False)
    return [
        {"InstanceGroupId": group.id, "InstanceCount": int(after["InstanceCount"])}
        for group, (_, before), (_, after) in pairs
        if before.get("InstanceCount") != after.get("InstanceCount")
    ]


def _update_flags(cluster_id: str, region: str, old: Json, new: Json) -> None:
    """Set the flags that the template changes; others keep the value that an operator gave them."""
    instances = new.get("Instances", {})
    protected = instances.get("TerminationProtected", False)
    was_protected = old.get("Instances", {}).get("TerminationProtected", False)
    replacing = instances.get("UnhealthyNodeReplacement", True)
    visible = new.get("VisibleToAllUsers", False)
    ids = [cluster_id]
    if protected != was_protected or controls.are_worse():
        moto_internals.call("emr", region, "set_termination_protection", JobFlowIds=ids, TerminationProtected=protected)
    moto_internals.call(
        "emr", region, "set_unhealthy_node_replacement", JobFlowIds=ids, UnhealthyNodeReplacement=replacing
    )
    moto_internals.call("emr", region, "set_visible_to_all_users", JobFlowIds=ids, VisibleToAllUsers=visible)
    if "StepConcurrencyLevel" in new:
        level = new["StepConcurrencyLevel"]
        moto_internals.call("emr", region, "modify_cluster", ClusterId=cluster_id, StepConcurrencyLevel=level)


def _update_policies(cluster_id: str, region: str, new: Json) -> None:
    for name, noun in {"ManagedScalingPolicy": "managed_scaling", "AutoTerminationPolicy": "auto_termination"}.items():
        if name in new:
            moto_internals.call("emr", region, f"put_{noun}_policy", ClusterId=cluster_id, **{name: new[name]})
        else:
            moto_internals.call("emr", region, f"remove_{noun}_policy", ClusterId=cluster_id)


def _update_tags(cluster_id: str, region: str, old: Json, new: Json) -> None:
    keys = {tag["Key"] for tag in new.get("Tags", [])}
    removed = [tag["Key"] for tag in old.get("Tags", []) if tag["Key"] not in keys]
    if removed:
        moto_internals.call("emr", region, "remove_tags", ResourceId=cluster_id, TagKeys=removed)
    if keys:
        moto_internals.call("emr", region, "add_tags", ResourceId=cluster_id, Tags=new["Tags"])


class SecurityConfiguration(ApiType):
    """A security configuration; every property is create-only."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new security configuration."""
        name = str(request.properties.get("Name") or request.generated_name)
        document = request.properties["SecurityConfiguration"]
        text = document if isinstance(document, str) else json.dumps(document)
        moto_internals.call(
            "emr", request.region, "create_security_configuration", Name=name, SecurityConfiguration=text
        )
        return ApiResource(physical_resource_id=name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the security configuration."""
        moto_internals.call("emr", request.region, "delete_security_configuration", Name=resource.physical_resource_id)


class WalWorkspace(ApiType):
    """A workspace of EMR's write-ahead logs: no API of it is public, so it is a name and nothing more."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the requested name."""
        return ApiResource(physical_resource_id=str(request.properties["WALWorkspaceName"]))
