"""One environment as it is now: each cluster with its caches, its claim, its alarms, its drift and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.engine_facet import changes_of
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import COLD, COOL
from warmbase.dashboards.alarms import NO_FAULT
from warmbase.emr.cluster_state import is_running
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records
from warmbase.ground.errors import Infeasible
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import Parts, suppress_codes
from warmbase.operations.cluster.alarms import AlarmTopic, described_alarms, read_silence, read_topics
from warmbase.operations.cluster.boost import BoostState, read_boost
from warmbase.operations.cluster.caches import ServerCache, caches
from warmbase.operations.cluster.claims import Claim, claim_of
from warmbase.operations.cluster.description import DescribedCluster, described_cluster
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.engine_facet import operations_of
from warmbase.operations.cluster.failed_launch import CREATION_FAILED, FailedLaunch, find_failed_launches
from warmbase.operations.cluster.journals import unfinished_commands
from warmbase.operations.cluster.protection import read_protection
from warmbase.sizing.recovery.warmth import target_of

# judgement: long enough for a trend that a minute's pause does not hide.
TREND_MINUTES: Final = 30
# judgement: what a bucket's end and regions that are not quite even leave empty.
WARM_FRACTION: Final = 0.95


class Caches(Struct, frozen=True, kw_only=True):
    """The caches of one cluster over the last minutes; hit ratios are weighted by requests, the worst is a server's.

    `fill` is of what the plan expects to be filled; `warm_in_seconds` goes by the last half hour, None where nothing
    grows. `servers` are those that have published.
    """

    servers: tuple[ServerCache, ...]
    expected_servers: int
    hit_ratio: float | None
    worst: ServerCache | None
    below_90: int
    below_80: int
    fill: float | None
    warm: bool
    warm_in_seconds: float | None


class EngineState(Struct, frozen=True, kw_only=True):
    """The part of the state of a running cluster that its engine knows; the fields are those of `ClusterState`."""

    differences: int | None = None
    caches: Caches | None = None
    boost: BoostState | None = None
    unfinished: tuple[str, ...] | None = None


class ClusterState(Struct, frozen=True, kw_only=True):
    """One named cluster. `cluster` is None where none was launched; `why` says why nothing more is known.

    `unfinished` are the commands that are changing it now, or were interrupted before they had ended, and `topics` are
    those of its alarms; None if that is unknown. `unread` says why a part could not be read, by its name on the page;
    without the part `cluster`, nothing that depends on it is known, and `cluster` is None.
    """

    name: str
    role: str
    cluster: DescribedCluster | None = None
    launched_at: str | None
    recorded: bool
    caches: Caches | None = None
    boost: BoostState | None = None
    differences: int | None = None
    alarms: tuple[str, ...] = ()
    silenced: tuple[str, ...] = ()
    topics: tuple[AlarmTopic, ...] | None = ()
    unprotected: tuple[str, ...] = ()
    unfinished: tuple[str, ...] | None = ()
    usd_per_month: float | None = None
    why: str = ""
    unread: Mapping[str, str] = {}


class EnvironmentState(Struct, frozen=True, kw_only=True):
    """The environment at one moment. `claim` is None where nobody has claimed the root, or there is none to claim.

    `failed_launches` are what remains of launches that failed and that no record keeps. `unread` says why a part that
    belongs to no cluster could not be read.
    """

    environment: str
    at: str
    claim: Claim | None
    claim_why: str
    clusters: tuple[ClusterState, ...]
    failed_launches: tuple[FailedLaunch, ...] = ()
    unread: Mapping[str, str] = {}

    @property
    def is_whole(self) -> bool:
        """Return whether every part could be read."""
        return not self.unread and not any(cluster.unread for cluster in self.clusters)


def state(aws: Aws, environment: Environment) -> EnvironmentState:
    """Raises OperationFailed where AWS does not answer, InvalidInput for a launch record that was edited."""
    records, parts = launch_records(environment), Parts()
    sections = [parts]
    claim, why = None, "in mode hdfs the data is on the nodes: there is no root to claim"
    if environment.mode.keeps_data_in_s3:
        claim = parts.read("claim", lambda: claim_of(aws, environment.root), None)
        why = "" if claim else parts.unread.get("claim", "no cluster has claimed the root")
    failed = parts.read("failed", lambda: find_failed_launches(aws, environment), ())
    unusable = {launch.cluster_name for launch in failed if launch.stack_status in CREATION_FAILED}
    at, clusters = datetime.now(UTC).isoformat(timespec="seconds"), []
    for cluster_name in environment.cluster_names:
        record = records.get(cluster_name)
        known = ClusterState(
            name=cluster_name,
            role=environment.role(cluster_name),
            launched_at=record.launched_at if record else None,
            recorded=record is not None,
        )
        if cluster_name in unusable:
            clusters.append(replace(known, why="its launch failed"))
        else:
            sections.append(Parts())
            clusters.append(_cluster(aws, environment, known, record, sections[-1]))
    if parts.failures and all(section.is_blank for section in sections):
        raise next(iter(parts.failures.values()))
    return EnvironmentState(
        environment=environment.name,
        at=at,
        claim=claim,
        claim_why=why,
        clusters=tuple(clusters),
        failed_launches=failed,
        unread=parts.unread,
    )


def _cluster(
    aws: Aws, environment: Environment, known: ClusterState, record: LaunchRecord | None, parts: Parts
) -> ClusterState:
    """Return the state that is known without AWS, completed by the answers of AWS."""
    name = known.name

    def description() -> DescribedCluster | None:
        with suppress_codes():
            return described_cluster(aws, environment.name, name)
        return None

    cluster = parts.read("cluster", description, None)
    known = replace(known, cluster=cluster)
    if cluster is None and not parts.unread:
        return replace(known, why="no cluster runs")
    if cluster is not None and not is_running(cluster.state):
        return replace(known, why=f"{cluster.id} is {cluster.state}")
    engine = engine_of(environment, name)
    try:
        launch = changes_of(engine).launch(environment, name, record)
    except Infeasible as infeasible:
        return replace(known, why=infeasible.summary, unread=parts.unread)
    state_of_engine = operations_of(engine).state(aws, launch, cluster, parts) if cluster else EngineState()

    def in_alarm() -> tuple[str, ...]:
        alarms = described_alarms(aws, environment.name, name).items()
        # A cache that gets warm is shown as such, and is no fault.
        return tuple(sorted(end for end, one in alarms if one.state == "ALARM" and not end.endswith(NO_FAULT)))

    return replace(
        known,
        caches=state_of_engine.caches,
        boost=state_of_engine.boost,
        differences=state_of_engine.differences,
        alarms=parts.read("alarms", in_alarm, ()),
        silenced=parts.read("silenced", lambda: read_silence(aws, environment.name, name).lines, ()),
        topics=parts.read("mails", lambda: read_topics(aws, environment.name, name, environment.alarm_email), None),
        unprotected=parts.read("missing", lambda: read_protection(aws, environment.name, name).missing, ()),
        unfinished=state_of_engine.unfinished,
        usd_per_month=launch.plan.cost.usd_per_month,
        unread=parts.unread,
    )


def hbase_state(aws: Aws, launch: Launch, cluster: DescribedCluster, parts: Parts) -> EngineState:
    """Return the state of HBase on a running cluster."""
    drift = parts.read("drift", lambda: len(read_running_cluster(aws, launch).changes(launch)), None)
    has_cache = launch.plan.mode.has_bucket_cache
    return EngineState(
        differences=drift,
        caches=parts.read("caches", lambda: _caches(aws, cluster, launch), None) if has_cache else None,
        boost=parts.read("boost", lambda: read_boost(aws, launch, cluster), None),
        unfinished=parts.read("unfinished", lambda: unfinished_commands(aws, launch, cluster.id), None),
    )


def _caches(aws: Aws, cluster: DescribedCluster, launch: Launch) -> Caches:
    now = caches(aws, cluster.id)
    before = caches(aws, cluster.id, aws.now() - timedelta(minutes=TREND_MINUTES))
    ratios: Mapping[str, float] = {server.instance: ratio for server in now if (ratio := server.hit_ratio) is not None}
    hits, misses = (sum(getattr(server, name) or 0.0 for server in now) for name in ("hits", "misses"))
    target = target_of(launch.plan)
    fills = []
    for servers in (now, before):
        # The mean fill beside what the planned caches hold when they are warm.
        known = [server.fill for server in servers if server.fill is not None]
        mean = sum(known) / len(known) if known else None
        fills.append(None if mean is None else min(1.0, mean / (target.warm_bytes / target.cache_bytes)))
    fill, earlier = fills
    remaining = None
    if fill is not None and earlier is not None and fill > earlier:
        remaining = max(0.0, (WARM_FRACTION - fill) / (fill - earlier)) * TREND_MINUTES * 60
    return Caches(
        servers=now,
        expected_servers=cluster.groups["core"].count,
        hit_ratio=hits / (hits + misses) if hits + misses else None,
        worst=min(
            (server for server in now if server.instance in ratios),
            key=lambda server: ratios[server.instance],
            default=None,
        ),
        below_90=sum(ratio < COOL for ratio in ratios.values()),
        below_80=sum(ratio < COLD for ratio in ratios.values()),
        fill=fill,
        warm=fill is not None and fill >= WARM_FRACTION,
        warm_in_seconds=remaining,
    )
