"""The rolling restart of one environment's cluster, and the clusters whose caches no restart in place would keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from configurations.bootstrap import start_seconds, stop_seconds
from configurations.launch import Launch
from emr.classification import flattened
from operations.available_restart import AvailableRestart
from operations.aws import Aws
from operations.basis import Basis
from operations.cluster_step import PrimaryShell
from operations.emr_hbase import CacheIndex, EmrHBase
from operations.hbase_control import HBaseState
from operations.restart_journal import RestartJournal, S3RestartJournal
from operations.rolling_restart import RollingRestart
from sizing.problem import Problem, Refused

# judgement: Systems Manager delivers a command and its outcome within a minute.
DELIVERY_SECONDS: Final = 60
RETAINS: Final = ("hbase-site", "hbase.master.scp.retain.assignment.force")


class RestartProposal(Struct, frozen=True, kw_only=True):
    """A restart before its confirmation: the state that it was made from, and the journal of one to be continued."""

    state: HBaseState
    journal: RestartJournal | None

    @property
    def basis(self) -> Basis:
        """Return the facts that the proposal was made from."""
        facts = {f"RegionServer {server}": f"started at {start}" for server, start in self.state.servers.items()}
        return facts | {"tables with regions that were moved": ", ".join(self.state.moved_tables) or "none"}


def refuse_unkept(launch: Launch) -> None:
    """Refuse a cluster whose caches or regions would not come back. Raises Refused with each reason."""
    if problems := list(_problems(launch)):
        raise Refused(problems)


def rolling_restart(aws: Aws, launch: Launch, cluster_id: str, *, available: bool) -> RollingRestart:
    """Return the rolling restart of a running cluster, with its journal in the log bucket.

    With `available`, the regions of each server are open on other servers while it restarts.
    """
    hbase = emr_hbase(aws, launch, cluster_id)
    journals = S3RestartJournal(aws=aws, bucket=hbase.primary.log_bucket, cluster_id=cluster_id)
    if available:
        return AvailableRestart(hbase=hbase, journals=journals)
    return RollingRestart(hbase=hbase, journals=journals)


def emr_hbase(aws: Aws, launch: Launch, cluster_id: str) -> EmrHBase:
    """Return the HBase of a running cluster of this environment."""
    bucket = launch.environment.in_account(launch.environment.log_bucket, aws.account)
    return EmrHBase(
        aws=aws,
        primary=PrimaryShell(aws=aws, cluster_id=cluster_id, log_bucket=bucket),
        index=CacheIndex.of(launch),
        restart_seconds=start_seconds(launch.plan) + stop_seconds(launch.plan) + DELIVERY_SECONDS,
    )


def _problems(launch: Launch) -> Iterator[Problem]:
    plan, fix = launch.plan, "to apply settings, use warmbase reconfigure: EMR restarts the daemons itself"
    where = f"cluster {plan.cluster} of {plan.environment}"
    if not plan.mode.has_bucket_cache:
        why = f"in mode {plan.mode} a RegionServer has no cache on disk that it could find again"
        yield Problem(where=where, what="has no cache that a restart in place would keep", why=why, fix=fix)
        return
    if launch.environment.clusters[plan.cluster].role == "replica":
        yield Problem(
            where=where,
            what="is a read replica, which this command does not restart",
            why="read replicas have their own hbase:meta, and nobody has tested whether their regions return",
            fix=fix,
        )
    if (*RETAINS, "true") not in flattened(launch.settings.effective("primary")):
        yield Problem(
            where=where,
            what="would spread the regions of a server that restarts over the others",
            why=f"its master does not wait for the server: {RETAINS[1]} is not set; HBase has it since 2.6.0",
            fix="launch a cluster with a newer release",
        )
