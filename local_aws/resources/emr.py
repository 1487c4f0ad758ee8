"""The AWS::EMR types: clusters, security configurations and WAL workspaces."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError
from moto.emr.models import emr_backends

from local_aws import controls
from local_aws.emr.clusters import POLICIES
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
        answer = request.call("emr", "run_job_flow", **job_flow(request.properties))
        cluster = emr_backends[request.account_id][request.region].clusters[answer["JobFlowId"]]
        if cluster.state not in {"RUNNING", "WAITING"}:
            raise CreationFailed(cluster, f"Cluster {cluster.id} failed: {cluster.last_state_change_reason}")
        cluster.template_properties = request.properties
        return cluster

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same cluster with its tags, policies, protections and counts as requested."""
        cluster_id, old, new = resource.id, resource.template_properties, request.properties
        emr = partial(request.call, "emr")
        update_flags(emr, cluster_id, old, new)
        for name, attribute in POLICIES.items():
            if name in new:
                emr(f"put_{attribute}", ClusterId=cluster_id, **{name: new[name]})
            else:
                emr(f"remove_{attribute}", ClusterId=cluster_id)
        keys = {tag["Key"] for tag in new.get("Tags", [])}
        removed = [tag["Key"] for tag in old.get("Tags", []) if tag["Key"] not in keys]
        if removed:
            emr("remove_tags", ResourceId=cluster_id, TagKeys=removed)
        if keys:
            emr("add_tags", ResourceId=cluster_id, Tags=new["Tags"])
        # Each group whose count in the template changed is resized.
        groups = (_groups(old.get("Instances", {})), _groups(new.get("Instances", {})))
        for group, (_, before), (_, after) in zip(resource.instance_groups, *groups, strict=False):
            if before.get("InstanceCount") != after.get("InstanceCount"):
                change = {"InstanceGroupId": group.id, "InstanceCount": int(after["InstanceCount"])}
                emr("modify_instance_groups", ClusterId=cluster_id, InstanceGroups=[change])
                settle(resource, group)
        resource.template_properties = new
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Terminate the cluster; EMR refuses while it is termination protected."""
        if resource.state not in ENDED:
            request.call("emr", "terminate_job_flows", JobFlowIds=[resource.id])


def cluster_attribute(cluster: Untyped, name: str) -> str:
    """Return an attribute of a cluster for Fn::GetAtt."""
    if name == "Id":
        return str(cluster.id)
    if name == "MasterPublicDNS":
        return str(cluster.master_public_dns_name)
    raise UnformattedGetAttTemplateException


def job_flow(properties: Json) -> Json:
    """Return the parameters of RunJobFlow for the properties of a template. Raises ValidationError for a fleet."""
    instances = properties["Instances"]
    fleets = sorted(FLEETS & instances.keys())
    if fleets:
        raise ValidationError(message=f"the local AWS runs instance groups, not {', '.join(fleets)}")
    if "Ec2SubnetIds" in instances:
        # The worse reading: EMR's API Reference says only that the list applies to instance fleets.
        raise ValidationError(message="Ec2SubnetIds applies to instance fleets; with instance groups, use Ec2SubnetId")
    groups = []
    for role, group in _groups(instances):
        groups.append({**group, "InstanceRole": role})
        if "Configurations" in group:
            groups[-1]["Configurations"] = api_configurations(group["Configurations"])
    others = {key: value for key, value in instances.items() if key not in ROLES}
    return {
        **properties,
        "Configurations": api_configurations(properties.get("Configurations", [])),
        "Instances": {**others, "InstanceGroups": groups},
    }


def _groups(properties: Json) -> list[tuple[str, Json]]:
    groups: list[tuple[str, Json]] = []
    for key, role in ROLES.items():
        value = properties.get(key, [])
        groups.extend((role, one) for one in (value if isinstance(value, list) else [value]))
    return groups


def update_flags(emr: Callable[..., object], cluster_id: str, old: Json, new: Json) -> None:
    """Set the flags that the template changes; others keep the value that an operator gave them."""
    instances = new.get("Instances", {})
    protected = instances.get("TerminationProtected", False)
    ids = {"JobFlowIds": [cluster_id]}
    if protected != old.get("Instances", {}).get("TerminationProtected", False) or controls.are_worse():
        emr("set_termination_protection", **ids, TerminationProtected=protected)
    replaces = instances.get("UnhealthyNodeReplacement", True)
    emr("set_unhealthy_node_replacement", **ids, UnhealthyNodeReplacement=replaces)
    emr("set_visible_to_all_users", **ids, VisibleToAllUsers=new.get("VisibleToAllUsers", False))
    if "StepConcurrencyLevel" in new:
        emr("modify_cluster", ClusterId=cluster_id, StepConcurrencyLevel=new["StepConcurrencyLevel"])


class SecurityConfiguration(ApiType):
    """A security configuration; every property is create-only."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new security configuration."""
        name = str(request.properties.get("Name") or request.generated_name)
        document = request.properties["SecurityConfiguration"]
        text = document if isinstance(document, str) else json.dumps(document)
        request.call("emr", "create_security_configuration", Name=name, SecurityConfiguration=text)
        return ApiResource(physical_resource_id=name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Delete the security configuration."""
        request.call("emr", "delete_security_configuration", Name=resource.physical_resource_id)


class WalWorkspace(ApiType):
    """A workspace of EMR's write-ahead logs: no API of it is public, so it is a name and nothing more."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the requested name."""
        return ApiResource(physical_resource_id=str(request.properties["WALWorkspaceName"]))
