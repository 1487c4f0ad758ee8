"""The AWS::EMR types: a cluster, its added instance groups and steps, security configurations and WAL workspaces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError
from moto.emr.models import emr_backends

from local_aws import api
from local_aws.instance_groups import ENDED, api_configurations, settle
from local_aws.resource_type import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.moto_internals import Json, Untyped
    from local_aws.resource_type import ResourceRequest

ROLES = {"MasterInstanceGroup": "MASTER", "CoreInstanceGroup": "CORE", "TaskInstanceGroups": "TASK"}
FLEETS = frozenset({"MasterInstanceFleet", "CoreInstanceFleet", "TaskInstanceFleets"})


class ClusterType(ApiType):
    """Makes clusters by RunJobFlow; an update in place uses the operation that each property has."""

    attributes = frozenset({"Id", "MasterPublicDNS"})

    def create(self, request: ResourceRequest) -> Untyped:
        """The new cluster, WAITING; raises ValidationError when its bootstrap failed."""
        made = api.call("emr", request.region, "run_job_flow", **job_flow(request.properties))
        cluster = emr_backends[request.account_id][request.region].clusters[made["JobFlowId"]]
        if cluster.state == "TERMINATED_WITH_ERRORS":
            raise ValidationError(message=f"Cluster {cluster.id} failed: {cluster.last_state_change_reason}")
        cluster.launched_properties = request.properties
        return cluster

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same cluster with its tags, policies, protections and counts as requested."""
        old, new = resource.launched_properties, request.properties
        _update_flags(resource.id, request.region, old, new)
        _update_policies(resource.id, request.region, new)
        _update_tags(resource.id, request.region, old, new)
        for change in count_changes(resource, old.get("Instances", {}), new.get("Instances", {})):
            api.call("emr", request.region, "modify_instance_groups", ClusterId=resource.id, InstanceGroups=[change])
            settle(resource, resource.emr_backend.instance_groups[change["InstanceGroupId"]])
        resource.launched_properties = new
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Terminates the cluster; EMR refuses while it is termination protected."""
        if resource.state not in ENDED:
            api.call("emr", request.region, "terminate_job_flows", JobFlowIds=[resource.id])


def cluster_attribute(cluster: Untyped, name: str) -> str:
    """Return what Fn::GetAtt gives for a cluster."""
    if name == "Id":
        return str(cluster.id)
    if name == "MasterPublicDNS":
        return str(cluster.master_public_dns_name)
    raise UnformattedGetAttTemplateException


def job_flow(properties: Json) -> Json:
    """Return the parameters of RunJobFlow for the properties of a template."""
    asked = {key: value for key, value in properties.items() if key not in {"Instances", "Configurations", "Steps"}}
    asked["Configurations"] = api_configurations(properties.get("Configurations", []))
    asked["Steps"] = [step(one) for one in properties.get("Steps", [])]
    asked["Instances"] = _instances(properties["Instances"])
    return asked


def step(properties: Json) -> Json:
    """One step in the API's spelling: `Properties` where CloudFormation says `StepProperties`."""
    jar = dict(properties["HadoopJarStep"])
    pairs = jar.pop("StepProperties", [])
    asked = {key: value for key, value in properties.items() if key != "JobFlowId"}
    return {**asked, "HadoopJarStep": {**jar, "Properties": pairs} if pairs else jar}


def instance_group(role: str, properties: Json) -> Json:
    """Return one instance group in the API's spelling."""
    asked = {**properties, "InstanceRole": role}
    if "Configurations" in properties:
        asked["Configurations"] = api_configurations(properties["Configurations"])
    return asked


def _instances(properties: Json) -> Json:
    fleets = sorted(FLEETS & properties.keys())
    if fleets:
        raise ValidationError(message=f"the local AWS runs instance groups, not {', '.join(fleets)}")
    subnets = properties.get("Ec2SubnetIds", [])
    asked = {key: value for key, value in properties.items() if key not in ROLES and key != "Ec2SubnetIds"}
    if subnets:
        asked["Ec2SubnetId"] = subnets[0]
    asked["InstanceGroups"] = [instance_group(role, one) for role, one in _groups(properties)]
    return asked


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
    """Return what the template does not change stays as somebody has set it meanwhile."""
    instances = new.get("Instances", {})
    protected = instances.get("TerminationProtected", False)
    was_protected = old.get("Instances", {}).get("TerminationProtected", False)
    replacing = instances.get("UnhealthyNodeReplacement", True)
    visible = new.get("VisibleToAllUsers", False)
    ids = [cluster_id]
    if protected != was_protected:
        api.call("emr", region, "set_termination_protection", JobFlowIds=ids, TerminationProtected=protected)
    api.call("emr", region, "set_unhealthy_node_replacement", JobFlowIds=ids, UnhealthyNodeReplacement=replacing)
    api.call("emr", region, "set_visible_to_all_users", JobFlowIds=ids, VisibleToAllUsers=visible)
    if "StepConcurrencyLevel" in new:
        level = new["StepConcurrencyLevel"]
        api.call("emr", region, "modify_cluster", ClusterId=cluster_id, StepConcurrencyLevel=level)


def _update_policies(cluster_id: str, region: str, new: Json) -> None:
    for name, noun in {"ManagedScalingPolicy": "managed_scaling", "AutoTerminationPolicy": "auto_termination"}.items():
        if name in new:
            api.call("emr", region, f"put_{noun}_policy", ClusterId=cluster_id, **{name: new[name]})
        else:
            api.call("emr", region, f"remove_{noun}_policy", ClusterId=cluster_id)


def _update_tags(cluster_id: str, region: str, old: Json, new: Json) -> None:
    kept = {tag["Key"] for tag in new.get("Tags", [])}
    gone = [tag["Key"] for tag in old.get("Tags", []) if tag["Key"] not in kept]
    if gone:
        api.call("emr", region, "remove_tags", ResourceId=cluster_id, TagKeys=gone)
    if kept:
        api.call("emr", region, "add_tags", ResourceId=cluster_id, Tags=new["Tags"])


class InstanceGroupConfig(ApiType):
    """A task group added to a cluster; EMR cannot remove one, so its deletion sets it to no instances."""

    def create(self, request: ResourceRequest) -> Untyped:
        """The new group."""
        asked = {name: value for name, value in request.properties.items() if name not in {"JobFlowId", "InstanceRole"}}
        group = instance_group(request.properties["InstanceRole"], asked)
        parameters = {"JobFlowId": request.properties["JobFlowId"], "InstanceGroups": [group]}
        made = api.call("emr", request.region, "add_instance_groups", **parameters)
        return emr_backends[request.account_id][request.region].instance_groups[made["InstanceGroupIds"][0]]

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same group with the requested count."""
        _resize(resource, request, int(request.properties["InstanceCount"]))
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Empties the group, unless its cluster is gone."""
        if resource.state != "TERMINATED":
            _resize(resource, request, 0)


class EmrStep(ApiType):
    """A step added to a cluster; nothing runs it, and its deletion leaves it in the list, as in AWS."""

    attributes = frozenset({"Id"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """The new step."""
        asked = {"JobFlowId": request.properties["JobFlowId"], "Steps": [step(request.properties)]}
        made = api.call("emr", request.region, "add_job_flow_steps", **asked)["StepIds"][0]
        return ApiResource(physical_resource_id=made, attributes={"Id": made})


class SecurityConfiguration(ApiType):
    """A security configuration; every property is create-only."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new security configuration."""
        name = str(request.properties.get("Name") or request.generated_name)
        document = request.properties["SecurityConfiguration"]
        text = document if isinstance(document, str) else json.dumps(document)
        api.call("emr", request.region, "create_security_configuration", Name=name, SecurityConfiguration=text)
        return ApiResource(physical_resource_id=name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Deletes the security configuration."""
        api.call("emr", request.region, "delete_security_configuration", Name=resource.physical_resource_id)


class WalWorkspace(ApiType):
    """A workspace of EMR's write-ahead logs: no API of it is public, so it is a name and nothing more."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return its name, as asked for."""
        return ApiResource(physical_resource_id=str(request.properties["WALWorkspaceName"]))


def _resize(group: Untyped, request: ResourceRequest, count: int) -> None:
    change = {"InstanceGroupId": group.id, "InstanceCount": count}
    api.call("emr", request.region, "modify_instance_groups", ClusterId=group.cluster_id, InstanceGroups=[change])
    settle(emr_backends[request.account_id][request.region].clusters[group.cluster_id], group)
