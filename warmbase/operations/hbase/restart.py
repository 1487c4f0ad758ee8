"""The rolling restart of one environment's cluster, in place or for clients that cannot wait.

For clients that cannot wait (`AvailableRestart`), the regions of a server are open on other servers while it restarts.
So each region moves twice, and the caches of the other servers read its blocks from S3. The restart ends with a stage
that HBase's `graceful_stop.sh` does not have: after a move, the master remembers another server, and would send the
region there at the next restart, so the tables of moved regions are reopened in place.

Clusters whose caches no restart in place would keep are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.bootstrap import start_seconds, stop_seconds
from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.journal import S3Journal
from warmbase.operations.aws.node_command import PrimaryShell
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.cluster.drift import Basis
from warmbase.operations.cluster.hbase_control import META_TABLE, HBaseControl, HBaseState, RegionMove, refuse_unquiet
from warmbase.operations.hbase.cache_heal import MOVES_AT_A_TIME, HealControl, cached_name
from warmbase.operations.hbase.emr_hbase import CacheIndex, EmrHBase
from warmbase.operations.hbase.rolling_restart import (
    CONTINUE,
    UNQUIET,
    RestartJournal,
    RollingRestart,
    refuse_absent,
    restart_order,
    restart_title,
)
from warmbase.sizing.recovery.region_assignment import CacheBlocks

FEWEST_SERVERS: Final = 2


class AvailableControl(HealControl, HBaseControl, Protocol):
    """Moves regions, restarts servers and reads their caches. Every method raises OperationFailed where that fails."""


class AvailableRestart(RollingRestart, frozen=True, kw_only=True, dict=True):
    """The restart of one server after another, each without regions; they come home before the next server restarts."""

    hbase: AvailableControl
    available: ClassVar[bool] = True

    def stages(self, state: HBaseState) -> Iterator[Stage]:
        """Yield the stages for a cluster in this state; each first checks what is left to do, so it can be repeated."""
        yield Stage(title="check that the cluster is quiet, and switch the balancer off", act=self._prepare)
        for server in restart_order(state, self.journals.read()):
            acts = (self._move_away, self._restart_empty, self._bring_home)
            for title, act in zip(self.titles(server), acts, strict=True):
                yield Stage(title=title, act=partial(act, server))
        yield Stage(title="reopen hbase:meta and tables with moved regions in place", act=self._reopen)
        yield Stage(title="restore the balancer", act=self._finish)

    def titles(self, server: str) -> tuple[str, ...]:
        """Return the titles of the stages of one server."""
        return (
            f"move the regions of {server} away",
            restart_title(server),
            f"bring the regions of {server} home",
        )

    def cache_blocks(self, servers: Iterable[str], homes: Mapping[str, str], say: Say) -> dict[str, CacheBlocks]:
        """Return the blocks in the caches of these servers by their indexes; `homes` has the server of each region."""
        contents, files = self.hbase.cache_contents(sorted(servers), say), self.hbase.region_files(say)
        caches = {}
        for server, cache in contents.items():
            names = {cached_name(file) for name in files if homes.get(name) == server for file in files[name]}
            own = [cache.files[name] for name in names if name in cache.files]
            caches[server] = CacheBlocks(
                all_blocks=sum(file.blocks for file in cache.files.values()),
                own_blocks=sum(file.blocks for file in own),
                own_bytes=sum(file.size_bytes for file in own),
            )
        return caches

    def _reopen(self, say: Say) -> str:
        """Reopen hbase:meta as well: nothing shows that it was moved, because no row names its last server."""
        self.hbase.reopen([META_TABLE], say)
        self._home(self._journal(), say)
        return f"hbase:meta was reopened; {super()._reopen(say)}"

    def _refuse_unready(self, state: HBaseState, say: Say) -> None:
        if len(state.servers) < FEWEST_SERVERS:
            raise Refused.of(
                where="HBase",
                what="has no other RegionServer that regions could move to",
                why=f"the only live RegionServer is {next(iter(state.servers), 'none')}",
                fix="restart it in place: warmbase restart ENV --rolling",
            )
        super()._refuse_unready(state, say)

    def _continuable(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Wait until every server is live and no region is in transition; regions may be away."""
        return self._home(replace(journal, homes={}), say)

    def _move_away(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        moves = moves_away(server, state)
        self._move(moves, say)
        return f"{len(moves)} regions are open on other servers" if moves else "it has no regions"

    def _restart_empty(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if journal.restarted(server, state):
            return "was restarted already"
        # If a region has split since the move, its halves may have opened here.
        self._move(moves_away(server, state), say)
        self.hbase.restart(server, say)
        self._home(replace(journal, homes={}), say, server)
        return "it is back; its regions were open on other servers"

    def _bring_home(self, server: str, say: Say) -> str:
        journal = self._journal()
        state = self._still(journal, say)
        if not journal.restarted(server, state):
            raise OperationFailed.of(
                where=server,
                what="has not restarted",
                why="another command has changed the journal of this restart",
                fix=f"see which servers were restarted: warmbase status; then {CONTINUE}",
            )
        # After an interruption, the regions of the next server may be away already.
        own = {name: home for name, home in journal.homes.items() if home == server}
        homes = state.homes
        moves = [
            RegionMove(region=name, table=state.regions[name].table, source=homes[name], target=server)
            for name in own
            if homes.get(name, server) != server
        ]
        self._move(meta_first(moves), say)
        return self._gate(server, replace(journal, homes=own), say)

    def _still(self, journal: RestartJournal, say: Say) -> HBaseState:
        """Return the state, with the balancer off. Raises Refused if a server is down or the cluster is not quiet."""
        state = self.hbase.state(say)
        refuse_unquiet(state, UNQUIET)
        refuse_absent(journal, state)
        if state.balancer_is_on:
            # Somebody has switched it on meanwhile, and it may already have planned moves.
            self.hbase.switch_balancer(say, on=False)
            state = self.hbase.state(say)
        return state

    def _move(self, moves: Sequence[RegionMove], say: Say) -> None:
        for first in range(0, len(moves), MOVES_AT_A_TIME):
            some = moves[first : first + MOVES_AT_A_TIME]
            say(f"moving regions {first + 1} to {first + len(some)} of {len(moves)}")
            self.hbase.move(some, 0.0, say)


def moves_away(server: str, state: HBaseState) -> list[RegionMove]:
    """Return the moves of all regions of a server, each to the other server that then has the fewest."""
    counts = Counter({other: state.region_counts.get(other, 0) for other in state.servers if other != server})
    moves = []
    for name in sorted(name for name, home in state.homes.items() if home == server):
        target = min(sorted(counts), key=lambda other: counts[other])
        counts[target] += 1
        moves.append(RegionMove(region=name, table=state.regions[name].table, source=server, target=target))
    return meta_first(moves)


def meta_first(moves: Sequence[RegionMove]) -> list[RegionMove]:
    """Return the moves, that of hbase:meta first, because clients look up each moved region in it."""
    return sorted(moves, key=lambda move: move.table != META_TABLE)


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
    journals = S3Journal(aws, hbase.primary.log_bucket, "restarts", cluster_id, RestartJournal)
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
