"""Core nodes that are lost, because EC2 terminates their instances: EMR still lists them, and launches other nodes.

Source: Amazon EMR Management Guide, "Replacing unhealthy nodes": EMR replaces core nodes whose instances are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.ec2.responses.instances import InstanceResponse
from moto.emr.models import ElasticMapReduceBackend, emr_backends

from local_aws import clock, instance_groups
from local_aws.moto_internals import request_parameter, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.moto_internals import Untyped


def install() -> None:
    """Let EMR notice that an instance was terminated through EC2."""
    wrap(InstanceResponse, "terminate_instances", _terminated)
    wrap(ElasticMapReduceBackend, "list_instances", _listed)


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
                    instance.ended_at = clock.now()
                cluster.lost_instances = [*getattr(cluster, "lost_instances", []), *lost]
                instance_groups.replace_instances(cluster, group, ids)
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
