"""Instance groups of EMR clusters: configurations, volumes, size, lost nodes, and the states of a change.

A group that is resizing or being reconfigured reports RESIZING or RECONFIGURING to the next list_instance_groups, and
the outcome to the one after. EMR still lists a core node whose instance EC2 has terminated, and launches another node.
Source: Amazon EMR Management Guide, "Replacing unhealthy nodes".

Requests and templates are read here and not by the codecs of `emr/`: an emulator that shared them would share their
faults, and what it describes would prove nothing about them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moto.ec2.responses.instances import InstanceResponse
from moto.emr.exceptions import InvalidRequestException, ValidationException
from moto.emr.models import EXAMPLE_AMI_ID, ElasticMapReduceBackend, Instance, InstanceGroup, emr_backends
from moto.emr.utils import random_id

from local_aws import controls
from local_aws.controls import RECONFIGURATION, control
from local_aws.moto_internals import Json, Untyped, request_parameter, wrap
from warmbase.emr.api import read_classifications, write_classifications
from warmbase.emr.cluster_spec import merged

ENDED = frozenset({"TERMINATED", "TERMINATING", "TERMINATED_WITH_ERRORS"})
RECONFIGURABLE = frozenset({"RUNNING", "SUSPENDED", "ARRESTED"})
OWN_OPTIONS = ("configurations", "custom_ami_id")


def install() -> None:
    """Make moto's instance groups keep all their options, and its EMR notice the instances that EC2 has terminated."""
    wrap(InstanceGroup, "__init__", _init)
    wrap(InstanceResponse, "terminate_instances", _terminated)
    wrap(ElasticMapReduceBackend, "list_instances", _listed)
    InstanceGroup.ebs_block_devices = property(ebs_block_devices)
    InstanceGroup.ebs_optimized = property(lambda group: bool((group.ebs_configuration or {}).get("ebs_optimized")))


def _init(original: Callable[..., None], group: Untyped, *arguments: Untyped, **options: Untyped) -> None:
    passed = {key: value for key, value in options.items() if key not in OWN_OPTIONS}
    original(group, *arguments, **{"instance_group_id": f"ig-{random_id()}", **passed})
    group.custom_ami_id = options.get("custom_ami_id")
    group.configurations = []
    group.configurations_version = 0
    group.last_successfully_applied_configurations = []
    group.last_successfully_applied_configurations_version = 0
    group.settles_as = None


def configure(group: Untyped, submitted: list[Json] | None) -> None:
    """Give a new group its first configurations."""
    group.configurations = plain_configurations(submitted)
    group.last_successfully_applied_configurations = group.configurations


def ebs_block_devices(group: Untyped) -> list[Json]:
    """Return the group's volumes as list_instance_groups lists them, each with its throughput."""
    configs = (group.ebs_configuration or {}).get("ebs_block_device_configs", [])
    volumes = [one["volume_specification"] for one in configs for _ in range(int(one.get("volumes_per_instance") or 1))]
    return [
        {
            "VolumeSpecification": {
                "VolumeType": volume.get("volume_type"),
                "Iops": volume.get("iops"),
                "SizeInGB": volume.get("size_in_gb"),
                "Throughput": volume.get("throughput"),
            },
            "Device": f"/dev/sd{chr(ord('b') + number)}",
        }
        for number, volume in enumerate(volumes)
    ]


def modify(backend: Untyped, change: Json) -> None:
    """Resize or reconfigure one group, as one entry of ModifyInstanceGroups asks; raises when EMR would refuse."""
    group = backend.instance_groups.get(change["InstanceGroupId"])
    if group is None:
        raise InvalidRequestException(f"Instance group id '{change['InstanceGroupId']}' is not valid.")
    cluster = backend.clusters[group.cluster_id]
    if cluster.state in ENDED:
        raise InvalidRequestException(
            f"The cluster '{cluster.id}' is in the state {cluster.state} and cannot be modified."
        )
    reconfigured = change.get("Configurations") is not None
    resized = change.get("InstanceCount") is not None or change.get("EC2InstanceIdsToTerminate")
    if resized and reconfigured:
        raise ValidationException("An instance group cannot be resized and reconfigured in one request.")
    if reconfigured:
        if group.state not in RECONFIGURABLE:
            raise InvalidRequestException(
                f"Instance group '{group.id}' is {group.state} and cannot be reconfigured now."
            )
        submitted = plain_configurations(change["Configurations"])
        merge = change.get("ReconfigurationType") == "MERGE"
        group.configurations = merged_configurations(group.configurations, submitted) if merge else submitted
        group.configurations_version += 1
        group.state = "RECONFIGURING"
        group.state_change_reason = None
        group.settles_as = control(cluster, RECONFIGURATION) or "RUNNING"
    elif resized:
        if group.state not in {"RUNNING", "RESIZING"}:
            raise InvalidRequestException(f"Instance group '{group.id}' is {group.state} and cannot be resized now.")
        doomed = list(change.get("EC2InstanceIdsToTerminate", []))
        wanted = int(change.get("InstanceCount", group.num_instances - len(doomed)))
        if group.role == "MASTER":
            raise ValidationException("A primary instance group may not be modified.")
        _run(backend, group, wanted, doomed)
        group.set_instance_count(wanted)
        group.state = "RESIZING"
        group.settles_as = "RUNNING"


def _run(backend: Untyped, group: Untyped, wanted: int, doomed: list[str]) -> None:
    cluster = backend.clusters[group.cluster_id]
    running = [
        one for one in cluster.ec2_instances if one.instance_group is group and one.ec2_instance_id not in doomed
    ]
    surplus = [one.ec2_instance_id for one in running[wanted:]]
    if doomed + surplus:
        backend.ec2_backend.terminate_instances(doomed + surplus)
    cluster.ec2_instances = [one for one in cluster.ec2_instances if one.ec2_instance_id not in doomed + surplus]
    if wanted > len(running):
        reservation = backend.ec2_backend.run_instances(
            EXAMPLE_AMI_ID,
            wanted - len(running),
            None,
            [],
            instance_type=group.instance_type,
            is_instance_type_default=False,
        )
        for ec2_instance in reservation.instances:
            cluster.add_instance(Instance(ec2_instance=ec2_instance, instance_group=group))


def visible_version(group: Untyped) -> int:
    """Return the version of the group's configurations as list_instance_groups shows it."""
    late = controls.are_worse() and group.state == "RECONFIGURING"
    return int(group.configurations_version) - late


def settle(cluster: Untyped, group: Untyped) -> None:
    """End a resize or reconfiguration that has been listed once; the cluster's control tag decides how."""
    outcome = group.settles_as
    if outcome == "stuck":
        outcome = control(cluster, RECONFIGURATION) or "RUNNING"
    if outcome is None or outcome == "stuck":
        return
    group.settles_as = None
    reconfigured = group.state == "RECONFIGURING"
    group.state = "RUNNING" if outcome == "revert" else outcome
    if reconfigured and outcome == "RUNNING":
        group.last_successfully_applied_configurations = group.configurations
        group.last_successfully_applied_configurations_version = group.configurations_version
    elif reconfigured and outcome == "revert":
        group.configurations = group.last_successfully_applied_configurations
        if controls.are_worse():
            group.configurations_version += 1
            group.last_successfully_applied_configurations_version = group.configurations_version
        group.state_change_reason = "The reconfiguration failed and was reverted to the last successful configurations."
    elif reconfigured:
        group.state_change_reason = "The reconfiguration failed, and so did the attempt to revert it."


def api_configurations(configurations: Sequence[Json]) -> list[Json]:
    """Return the same configurations with `Properties` for `ConfigurationProperties`, nested ones too."""
    return [
        configuration(
            one["Classification"], one.get("ConfigurationProperties"), api_configurations(one.get("Configurations", []))
        )
        for one in configurations
    ]


def plain_configurations(configurations: Sequence[Json] | None) -> list[Json]:
    """Return configurations in the API's spelling with every part present: empty properties are not left out."""
    return [
        configuration(one["Classification"], one.get("Properties"), plain_configurations(one.get("Configurations")))
        for one in configurations or []
    ]


def merged_configurations(current: Sequence[Json], submitted: Sequence[Json]) -> list[Json]:
    """Return the configurations after a MERGE: submitted properties join the current ones, nested ones too."""
    return write_classifications(merged(read_classifications(current), read_classifications(submitted)))


def configuration(classification: str, properties: Json | None, nested: list[Json]) -> Json:
    """Return one configuration in the API's spelling; its values are text, as EMR keeps them."""
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (properties or {}).items()
    }
    document: Json = {"Classification": classification, "Properties": texts}
    if nested:
        document["Configurations"] = nested
    return document


def _terminated(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    answer = original(response)
    ids = request_parameter(response, "InstanceIds", [])
    for cluster in emr_backends[response.current_account][response.region].clusters.values():
        for group in cluster.instance_groups:
            lost = [
                instance
                for instance in cluster.ec2_instances
                if instance.ec2_instance_id in ids and instance.instance_group is group
            ]
            if lost and group.role == "CORE":
                for instance in lost:
                    instance.ended_at = controls.now()
                cluster.lost_instances = [*getattr(cluster, "lost_instances", []), *lost]
                wanted = len([instance for instance in cluster.ec2_instances if instance.instance_group is group])
                _run(cluster.emr_backend, group, wanted, ids)
                # The stand-ins' HBase begins anew with the nodes that run now, as if it had recovered meanwhile.
                cluster.hbase_marks = {}
    return answer


def _listed(
    original: Callable[..., Untyped],
    backend: Untyped,
    cluster_id: str,
    instance_group_id: str | None = None,
    instance_group_types: list[str] | None = None,
) -> Untyped:
    lost = [
        instance
        for instance in getattr(backend.clusters[cluster_id], "lost_instances", [])
        if instance_group_id in {None, instance.instance_group.id}
        and (not instance_group_types or instance.instance_group.role in instance_group_types)
    ]
    return [*original(backend, cluster_id, instance_group_id, instance_group_types), *lost]
