"""The verification of a running analytics cluster against our documentation, as `operations/verify` does for HBase.

Checks on each node concern Trino's version, JVM, properties and guard, and the cache of each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from warmbase.emr.cluster_spec import flattened
from warmbase.engines.trino.boards import TRINO_METRICS, trino_boards
from warmbase.engines.trino.properties import cache_directories
from warmbase.engines.trino.rendering import TrinoLaunch
from warmbase.engines.trino.workers import HEAP_FRACTION
from warmbase.ground.units import GIB, format_percent, format_size
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.description import described_cluster
from warmbase.operations.verify.check import Check, CheckResult, Facts, Nodes, VerificationContext, read_findings
from warmbase.operations.verify.nodes import DROP_IN, active_timer, completed_actions, in_unit, node_checks
from warmbase.operations.verify.probe import GroupType, NodeProgram, probe_nodes
from warmbase.operations.verify.services import (
    emr_metrics,
    endpoint_checks,
    graph_outcomes,
    graphs_with_data,
    launch_checks,
    published_figures,
    query_alarm,
    subscriptions,
)

UNIT: Final = "trino-server.service"
TIMER: Final = "warmbase-trino-metrics.timer"
GUARD: Final = "before_trino_worker.py"
OWNER: Final = "trino"
FILES: Final = {"trino-config": "config.properties"}
CATALOG: Final = "trino-connector-"
LEAST_JAVA: Final = ((476, 24), (0, 23))
"""The first version of Trino that needs a version of Java, and that version; Trino's release notes, 465 and 476."""
HEAP_TOLERANCE: Final = 0.1  # judgement: a larger difference changes how much memory queries may use
PAGES_TOLERANCE: Final = 0.02  # judgement: pages are cached and evicted between the two readings
SILENT: Final = "no answer from Trino at port 8889"


class TrinoContext(VerificationContext, frozen=True, kw_only=True):
    """A running analytics cluster; `nodes` are its workers."""

    launch: TrinoLaunch
    coordinator: Facts | str
    """The facts of the coordinator's node; the reason where it does not answer."""


def rendered_properties(launch: TrinoLaunch, group: str) -> Mapping[str, str]:
    """Return the rendered value of each property of Trino that a group's nodes have in a file, by FILE:KEY."""
    settings = flattened(launch.settings.effective(group))
    return {f"{file}:{key}": value for path, key, value in sorted(settings) if (file := _file(path))}


def _file(classification: str) -> str | None:
    """Return the file below Trino's directory in which EMR writes a classification; None for another program's."""
    if classification.startswith(CATALOG):
        return f"catalog/{classification.removeprefix(CATALOG)}.properties"
    return FILES.get(classification)


def _of_server(verdict: Callable[[Mapping[str, Any]], tuple[bool | None, str]]) -> Callable[[Facts], Any]:
    """Return the verdict on the figures of Trino, which is a mismatch where Trino does not answer."""

    def check(facts: Facts) -> tuple[bool | None, str]:
        return verdict(facts["figures"]) if facts["info"] else (False, SILENT)

    return check


def _unit_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Check the systemd unit of Trino, its user, its guard and its publisher."""
    row = "The systemd unit is named `trino-server.service`"
    script = "correct the unit's name in bootstrap-actions/guard-trino-worker.sh"
    yield from completed_actions(context.nodes, "")
    yield from Check("systemd drop-in of Trino", row, DROP_IN, script).results_by_node(
        context.nodes, in_unit(UNIT, "DropInPaths", DROP_IN)
    )
    yield from Check(
        "user of Trino", row, OWNER, "correct --owner in bootstrap-actions/guard-trino-worker.sh"
    ).results_by_node(context.nodes, _user)
    yield from Check("guard of Trino", "", GUARD, script).results_by_node(
        context.nodes, in_unit(UNIT, "ExecStartPre", GUARD)
    )
    yield from Check(
        "publisher", "", "the timer is active", f"run systemctl enable --now {TIMER} on that node"
    ).results_by_node(context.nodes, active_timer(TIMER))
    for directory in cache_directories(context.launch.plan):
        yield from Check(
            f"owner of {directory}",
            "",
            OWNER,
            "run journalctl -u trino-server on that node: the guard makes the directory before Trino starts",
        ).results_by_node(context.nodes, _owner_of(directory))


def _user(facts: Facts) -> tuple[bool, str]:
    process = facts["trino"]
    return (process["user"] == OWNER, process["user"]) if process else (False, "Trino is not running")


def _owner_of(directory: str) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        owner = facts["owners"].get(directory)
        return bool(owner) and owner.startswith(f"{OWNER} "), owner or "the directory does not exist"

    return check


def _server_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Check the version and the port of Trino, and the Java and the heap that EMR gives it."""
    plan = context.launch.plan
    yield from Check(
        "version of Trino",
        "",
        f"Trino {plan.trino}",
        "correct the version in warmbase/facts/releases.csv, and plan again",
    ).results_by_node(context.nodes, lambda facts: _version(facts, plan.trino))
    row = "The coordinator listens on port 8889"
    port = (
        "correct TRINO in bootstrap-actions/programs/publish_trino_metrics.py and in"
        " warmbase/operations/on_node/probe_trino.py"
    )
    yield from Check("JMX of the workers", row, "Trino answers at port 8889", port).results_by_node(
        context.nodes, _of_server(_answers_jmx)
    )
    yield Check("port of the coordinator", row, "the coordinator answers at port 8889", port).result_of_primary(
        context.coordinator, _is_coordinator
    )
    least = next(java for trino, java in LEAST_JAVA if plan.trino >= trino)
    yield from Check(
        "Java of Trino",
        "Trino runs on the version of Java that it needs",
        f"Java {least} or later",
        "read /etc/trino/conf on that node to see which Java EMR chose",
    ).results_by_node(context.nodes, _of_server(lambda figures: _java(figures, least)))
    heap = plan.memory.heap_bytes
    yield from Check(
        "heap of Trino",
        "EMR gives Trino about 70 % of the memory as heap",
        f"about {format_size(heap)}, {format_percent(HEAP_FRACTION)} of the memory",
        "correct HEAP_FRACTION in warmbase/engines/trino/workers.py, and plan again",
    ).results_by_node(context.nodes, _of_server(lambda figures: _heap(figures, heap)))


def _version(facts: Facts, number: int) -> tuple[bool, str]:
    info = facts["info"]
    return (info["version"].partition("-")[0] == str(number), f"Trino {info['version']}") if info else (False, SILENT)


def _answers_jmx(figures: Mapping[str, Any]) -> tuple[bool, str]:
    answers = figures["started_ms"] is not None
    return answers, "Trino answers" if answers else "Trino answers, but not to JMX requests"


def _is_coordinator(facts: Facts) -> tuple[bool, str]:
    info = facts["info"]
    if not info:
        return False, SILENT
    return info["coordinator"], "the coordinator answers" if info["coordinator"] else "a worker answers there"


def _java(figures: Mapping[str, Any], least: int) -> tuple[bool | None, str]:
    version = figures["java"]
    return (None, "no answer") if version is None else (int(version.partition(".")[0]) >= least, f"Java {version}")


def _heap(figures: Mapping[str, Any], planned: int) -> tuple[bool | None, str]:
    heap = figures["heap_bytes"]
    return (None, "no answer") if heap is None else (abs(heap - planned) <= HEAP_TOLERANCE * planned, format_size(heap))


def _property_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Compare the properties in Trino's files with those that warmbase rendered for workers and coordinator."""
    row = "`trino-config` and `trino-connector-*` can be set for an instance group"
    for group, name in (("core", "workers"), ("primary", "coordinator")):
        rendered = rendered_properties(context.launch, group)
        check = Check(
            f"properties of the {name}",
            row,
            f"{len(rendered)} properties in /etc/trino/conf are as rendered",
            "run warmbase status to see whether a reconfiguration is pending; otherwise read these files on that node",
        )
        if group == "core":
            yield from check.results_by_node(context.nodes, _same_as(rendered))
        else:
            yield check.result_of_primary(context.coordinator, _same_as(rendered))


def _same_as(rendered: Mapping[str, str]) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        has = facts["configuration"]
        differences = [f"{name}={has.get(name)}" for name, value in rendered.items() if has.get(name) != value]
        return not differences, "; ".join(differences[:3]) or f"all {len(rendered)}"

    return check


def _cache_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Check that each worker has a cache, that queries read from it, and that a restart keeps its pages."""
    catalog = context.launch.plan.catalog
    yield from Check(
        "file-system cache",
        "Amazon's build of Trino has the file-system cache",
        f"Trino counts the reads of catalog {catalog} through its cache",
        "read the log of Trino on that node; if it rejects a property, correct it in"
        " warmbase/engines/trino/properties.py",
    ).results_by_node(context.nodes, _of_server(_has_cache))
    yield from Check(
        "reads from the cache",
        "The cache works with the S3 client that EMR configures",
        "queries have read from cached pages",
        "read the log of Trino on that node for errors of the cache",
    ).results_by_node(context.nodes, _of_server(_reads))
    yield from Check(
        "pages after a restart",
        "A worker finds its cached pages again",
        "Trino counts all pages on disk, including those from before its start",
        "run warmbase verify again if Trino has just started; otherwise search its log on that node for `restored"
        " with`, which says how many pages Trino found",
    ).results_by_node(context.nodes, _pages)


def _has_cache(figures: Mapping[str, Any]) -> tuple[bool, str]:
    has = figures["cached_bytes"] is not None
    return has, "Trino counts them" if has else "Trino answers, but has no cache"


def _reads(figures: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether queries have read from the cache; a mismatch if they read from S3 and no page was cached."""
    cached, fetched, space = figures["cached_bytes"], figures["fetched_bytes"], figures["space_bytes"]
    if None in (cached, fetched, space):
        return False, "Trino answers, but has no cache"
    if cached > 0:
        return True, f"{format_size(round(cached))} read from the cache, {format_size(round(fetched))} from S3"
    if fetched > 0 and not space:
        return False, f"{format_size(round(fetched))} read from S3, and no page is cached"
    return None, "no query has been repeated since Trino started"


def _pages(facts: Facts) -> tuple[bool | None, str]:
    """Return whether Trino counts the pages on disk; unknown without a page from before its start."""
    pages, counted = facts["pages"], facts["figures"]["space_bytes"]
    if pages is None or counted is None:
        return None, "the pages could not be counted"
    if not pages["older_bytes"]:
        return None, "no page is older than the start of Trino"
    observed = f"{pages['bytes'] / GIB:,.1f} GiB on disk, {counted / GIB:,.1f} GiB counted by Trino"
    return abs(pages["bytes"] - counted) <= PAGES_TOLERANCE * pages["bytes"], observed


SERVER_CHECKS: Final = (_unit_checks, _server_checks, _property_checks, _cache_checks)
"""Every check, in the order of the report."""


PROGRAM: Final = "probe_trino.py"
OF_READS: Final = frozenset({"HitRate"})
"""The figures that a worker publishes only after the first reads."""


def verification(aws: Aws, launch: TrinoLaunch, say: Say) -> tuple[CheckResult, ...]:
    """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""
    plan = launch.plan

    def probe(type_: GroupType, group: str) -> Nodes:
        arguments = (f"--catalog={plan.catalog}", *rendered_properties(launch, group))
        return probe_nodes(aws, cluster.id, type_, NodeProgram(PROGRAM, arguments), say)

    with translated(f"cluster {plan.cluster} could not be verified", "run the same command again"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
        context = TrinoContext(
            aws=aws,
            launch=launch,
            core=plan.workers,
            cluster=cluster,
            nodes=probe("CORE", "core"),
            coordinator=next(filter(None, probe("MASTER", "primary").values()), "no answer from the coordinator"),
        )
        say("querying EMR, CloudWatch and CloudFormation")
        return tuple(finding for check in CHECKS for finding in read_findings(check, context))


def _monitoring_checks(context: TrinoContext) -> Iterator[CheckResult]:
    """Check that the publishers' metrics arrive, and that CloudWatch can draw and watch them."""
    yield published_figures(context, TRINO_METRICS, OF_READS, "warmbase-trino-metrics")
    graphs = [graph for board in trino_boards(context.launch.plan).values() for graph in board]
    yield graphs_with_data(graph_outcomes(context, graphs))
    yield query_alarm(context, "server-silent", "OK while all workers answer")


CHECKS: Final[tuple[Callable[[TrinoContext], Iterator[CheckResult]], ...]] = (
    launch_checks,
    endpoint_checks,
    emr_metrics,
    _monitoring_checks,
    subscriptions,
    node_checks,
    *SERVER_CHECKS,
)
"""Every check, in the order of the report."""
