"""A core node that EMR has terminated, and when other servers are expected to serve its rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from operations.aws import Aws
from operations.aws_errors import AGAIN, translated
from sizing.node_loss import LostNode
from sizing.problem import InvalidInput, Refused

TERMINATED: Final = "TERMINATED"


class TerminatedNode(Struct, frozen=True, kw_only=True):
    """A core node whose instance ended at `ended_at`; `reason` is EMR's, and may be empty."""

    instance: str
    host: str
    reason: str
    ended_at: datetime

    def online_at(self, lost: LostNode) -> datetime:
        """Return when its rows should be online again, if another node had `hbase:meta`."""
        return self.ended_at + timedelta(seconds=lost.offline_seconds)

    def online_with_meta_at(self, lost: LostNode) -> datetime:
        """Return when its rows should be online again, if it had `hbase:meta`."""
        return self.ended_at + timedelta(seconds=lost.offline_with_meta_seconds)


def terminated_node(aws: Aws, cluster_id: str, name: str | None = None) -> TerminatedNode:
    """Return the core node with this EC2 id or private DNS name; without a name, the node that ended last.

    EMR lists the nodes that it has terminated in the last 30 days (EMR API Reference, ListInstances), and those that it
    is launching, which have no name yet. Raises InvalidInput if it does not list the node, and Refused if the node runs
    or if no node has ended.
    """
    with translated(f"could not list the nodes of {cluster_id}", AGAIN):
        pages: Any = aws.emr.get_paginator("list_instances").paginate(ClusterId=cluster_id, InstanceGroupTypes=["CORE"])
        nodes = [node for page in pages for node in page["Instances"]]
    ended = sorted((node for node in nodes if _state(node) == TERMINATED and _had_regions(node)), key=_ended_at)
    if name is None:
        if not ended:
            raise _none_lost(cluster_id)
        return _terminated(ended[-1])
    node = next((node for node in nodes if name in {node.get("Ec2InstanceId"), node.get("PrivateDnsName")}), None)
    if node is None:
        raise _unknown(cluster_id, name, [node["Ec2InstanceId"] for node in ended])
    if _state(node) != TERMINATED:
        raise _running(name, _state(node))
    if not _had_regions(node):
        raise _never_ran(name)
    return _terminated(node)


def _state(node: Mapping[str, Any]) -> str:
    return str(node["Status"]["State"])


def _had_regions(node: Mapping[str, Any]) -> bool:
    """Return whether the node was ready before it ended; EMR also lists those that it could not launch."""
    timeline: Mapping[str, datetime] = node["Status"].get("Timeline", {})
    return {"ReadyDateTime", "EndDateTime"} <= timeline.keys()


def _ended_at(node: Mapping[str, Any]) -> datetime:
    ended_at: datetime = node["Status"]["Timeline"]["EndDateTime"]
    return ended_at


def _terminated(node: Mapping[str, Any]) -> TerminatedNode:
    return TerminatedNode(
        instance=node["Ec2InstanceId"],
        host=node["PrivateDnsName"],
        reason=node["Status"].get("StateChangeReason", {}).get("Message", ""),
        ended_at=_ended_at(node),
    )


def _none_lost(cluster_id: str) -> Refused:
    return Refused.of(
        where=cluster_id,
        what="has lost no core node",
        why="EMR has terminated none of its core nodes in the last 30 days; it may take EMR minutes to notice that an"
        " instance is gone",
        fix="to see the nodes that run, use warmbase status",
    )


def _unknown(cluster_id: str, name: str, ended: list[str]) -> InvalidInput:
    return InvalidInput.of(
        where=name,
        what=f"is not a core node of {cluster_id}",
        why=f"in the last 30 days, EMR has terminated {', '.join(ended) if ended else 'none of its core nodes'}",
        fix="give the EC2 id of a node, or its private DNS name, as EMR lists it",
    )


def _never_ran(name: str) -> Refused:
    return Refused.of(
        where=name,
        what="had no regions",
        why="EMR has terminated the node before it was ready",
        fix="see the nodes that run: warmbase status",
    )


def _running(name: str, state: str) -> Refused:
    return Refused.of(
        where=name,
        what=f"is not lost: EMR lists the node as {state}",
        why="if only its RegionServer has stopped, the master waits for it, so that it finds its regions and its cache"
        " again when it restarts",
        fix="on the node, run sudo systemctl restart hbase-regionserver.service; if the node is beyond repair,"
        " terminate its instance, so that EMR replaces it",
    )
