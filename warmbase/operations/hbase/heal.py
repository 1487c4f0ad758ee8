"""The heal of an environment's cluster: on S3 that of its caches, on HDFS that of locality, with the journal of either.

On HDFS, replicas of blocks move to the RegionServers that read them. A region that opens on another server leaves its
blocks behind, and the server reads them over the network. This heal moves the replicas after it. A DataNode copies a
block to the host of the RegionServer, and only then does HDFS delete the replica that the copy replaces, so no
interruption costs a replica. Regions stay open where they are. HubSpot's healer works like this; the code that moves
replicas is that of HDFS's balancer.

The journal, in the log bucket, says whether HBase's balancer was on before the heal. Clusters on which nothing can be
healed are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol

from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import format_size
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.journals import Journals
from warmbase.operations.hbase.cache_heal import Heal
from warmbase.operations.hbase.emr_hbase import emr_hbase

# judgement: a command that is killed leaves a step that runs for up to this time, and the next step waits for it.
STEP_SECONDS: Final = 900
SERVERS_IN_OUTCOME: Final = 6


class ServerLocality(Struct, frozen=True, kw_only=True):
    """The store files of a server's regions: how much of them is on its own host, and what would be moved there.

    `sent_bytes` is the size of the replicas that its own DataNode would send.
    """

    bytes: int
    local_bytes: int
    moves: int
    moved_bytes: int
    sent_bytes: int

    @property
    def local_fraction(self) -> float:
        """Return the share that is on its host; 1 for a server without store files."""
        return self.local_bytes / self.bytes if self.bytes else 1.0


class Locality(Struct, frozen=True, kw_only=True):
    """The locality of each server, and the lowest bandwidth that a DataNode allows for moves."""

    servers: Mapping[str, ServerLocality]
    in_transition: int
    bandwidth_bytes_per_second: int

    @property
    def total(self) -> ServerLocality:
        """Return the sums over all servers."""
        servers = self.servers.values()
        return ServerLocality(
            bytes=sum(server.bytes for server in servers),
            local_bytes=sum(server.local_bytes for server in servers),
            moves=sum(server.moves for server in servers),
            moved_bytes=sum(server.moved_bytes for server in servers),
            sent_bytes=sum(server.sent_bytes for server in servers),
        )


class LocalityControl(Protocol):
    """Reads and moves replicas of blocks. Every method raises OperationFailed if the cluster refuses."""

    def locality(self, say: Say) -> Locality:
        """Return where the blocks of every store file are now."""

    def relocate(self, bandwidth_bytes_per_second: int, seconds: int, say: Say) -> tuple[int, Locality]:
        """Move replicas for about this many seconds; return the bytes that were moved, and the locality afterwards."""


class LocalityProposal(Struct, frozen=True, kw_only=True):
    """The locality of a cluster, and the bandwidth with which each DataNode would heal it."""

    locality: Locality
    bandwidth_bytes_per_second: int

    @property
    def seconds(self) -> float:
        """Return the estimated time: a DataNode shares its bandwidth between what it receives and what it sends."""
        servers = self.locality.servers.values()
        busiest = max((server.moved_bytes + server.sent_bytes for server in servers), default=0)
        return busiest / self.bandwidth_bytes_per_second

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        return self.basis_in(self.locality)

    def basis_in(self, locality: Locality) -> Basis:
        """Return the same facts of another reading; bytes do not count, because flushes and compactions change them."""
        return {f"RegionServer {server}": "is live" for server in locality.servers}


class LocalityHeal(Struct, frozen=True, kw_only=True):
    """The heal of the locality of one running HBase."""

    hdfs: LocalityControl

    def propose(self, say: Say, bandwidth_bytes_per_second: int | None = None) -> LocalityProposal:
        """Return the proposal for the cluster as it is now; without a bandwidth, that of the DataNodes.

        Raises Refused while regions are in transition.
        """
        locality = self.hdfs.locality(say)
        if locality.in_transition:
            raise Refused.of(
                where="HBase",
                what=f"is not quiet: {locality.in_transition} regions are in transition",
                why="replicas might be moved to servers that the regions are about to leave",
                fix="wait until every region is open (the master's page), then run the same command again",
            )
        return LocalityProposal(
            locality=locality,
            bandwidth_bytes_per_second=bandwidth_bytes_per_second or locality.bandwidth_bytes_per_second,
        )

    def stages(self, proposal: LocalityProposal) -> Iterator[Stage]:
        """Yield the stages of a proposal; each first reads where the blocks are, so it can be repeated."""
        total = proposal.locality.total
        yield Stage(
            title=f"move {total.moves:,} replicas to the hosts of their RegionServers",
            act=partial(self._move, proposal),
        )
        yield Stage(title="check where the blocks are", act=partial(self._verify, proposal))

    def _move(self, proposal: LocalityProposal, say: Say) -> str:
        moved_bytes = 0
        while True:
            more_bytes, locality = self.hdfs.relocate(proposal.bandwidth_bytes_per_second, STEP_SECONDS, say)
            moved_bytes += more_bytes
            rest = locality.total
            if not rest.moves:
                return f"{format_size(moved_bytes)} moved"
            say(f"{format_size(moved_bytes)} moved, {format_size(rest.moved_bytes)} left")
            if not more_bytes:
                raise OperationFailed.of(
                    where=f"{rest.moves:,} blocks",
                    what="could not be moved to the hosts of their RegionServers",
                    why="the DataNodes failed to move them, or a move would break HDFS's placement policy",
                    fix="read the stderr of the step heal-locality, and the logs of the DataNodes; then run the same"
                    " command again: it reads the locations anew, and continues with the blocks that remain",
                )

    def _verify(self, proposal: LocalityProposal, say: Say) -> str:
        before, after = proposal.locality.servers, self.hdfs.locality(say).servers
        worst = sorted(before.keys() & after.keys(), key=lambda server: (before[server].local_fraction, server))
        texts = [
            f"{server} {before[server].local_fraction:.0%} to {after[server].local_fraction:.0%}"
            for server in worst[:SERVERS_IN_OUTCOME]
        ]
        more = f", and {len(worst) - SERVERS_IN_OUTCOME} more" if worst[SERVERS_IN_OUTCOME:] else ""
        return f"local: {', '.join(texts)}{more}"


STEP: Final = "heal-locality"


class EmrHdfs(Struct, frozen=True, kw_only=True):
    """Reads and changes where the blocks of a cluster's store files are."""

    primary: PrimaryShell

    def locality(self, say: Say) -> Locality:
        """Return where the blocks of every store file are now."""
        return _locality(self.primary.run(STEP, say, "locality"))

    def relocate(self, bandwidth_bytes_per_second: int, seconds: int, say: Say) -> tuple[int, Locality]:
        """Move replicas for about this many seconds; return the bytes that were moved, and the locality afterwards."""
        answer = self.primary.run(STEP, say, "relocate", str(bandwidth_bytes_per_second), str(seconds))
        return answer["moved_bytes"], _locality(answer)


def _locality(answer: Mapping[str, Any]) -> Locality:
    return Locality(
        servers={server: ServerLocality(**figures) for server, figures in answer["servers"].items()},
        in_transition=answer["in_transition"],
        bandwidth_bytes_per_second=answer["bandwidth"],
    )


def refuse_unhealable(launch: Launch) -> None:
    """Refuse a cluster on which regions and blocks cannot be brought together. Raises Refused."""
    plan, where = launch.plan, f"cluster {launch.plan.cluster} of {launch.plan.environment}"
    if not plan.mode.keeps_data_in_s3 and launch.security.kerberos is not None:
        raise Refused.of(
            where=where,
            what="does not let this command move replicas of blocks",
            why="with Kerberos, only the user hdfs may move them, and the steps of warmbase authenticate as hbase",
            fix="to write the blocks of a region to the host of its RegionServer, compact its table: warmbase compact",
        )
    if plan.mode.keeps_data_in_s3 and not plan.mode.has_bucket_cache:
        raise Refused.of(
            where=where,
            what="has no caches that regions could be away from",
            why=f"in mode {plan.mode} a RegionServer has no cache on disk whose index says what it holds",
            fix="to see how its regions are spread, use the master's page",
        )

    if launch.environment.clusters[plan.cluster].role == "replica":
        raise Refused.of(
            where=where,
            what="is a read replica, whose regions this command does not move",
            why="EMR's read replicas cannot modify tables, so moved regions would not stay after a restart",
            fix="to move a region there, use HBase's shell on its primary node",
        )


def environment_locality_heal(aws: Aws, launch: Launch, cluster_id: str) -> LocalityHeal:
    """Return the heal of the locality of a running cluster whose root is on HDFS."""
    return LocalityHeal(hdfs=EmrHdfs(primary=emr_hbase(aws, launch, cluster_id).primary))


def environment_heal(aws: Aws, launch: Launch, cluster_id: str) -> Heal:
    """Return the heal of a running cluster, with its journal in the log bucket."""
    hbase = emr_hbase(aws, launch, cluster_id)
    return Heal(hbase=hbase, journals=Journals.of(aws, hbase.primary.log_bucket, cluster_id))
