"""The page docs/dashboards.md: graphs, alarms, notifications, their cost, and the proof that they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from configurations.launch import launch_of
from configurations.metrics import METRICS, MetricSource
from dashboards.alarm import Alarm
from dashboards.alarms import alarms
from dashboards.boards import boards
from dashboards.cache import HIT_RATIO_TITLE, WORST_TITLE, cache_graphs
from dashboards.composite_alarms import composite_alarms
from dashboards.graph import Exact, Graph
from environments.planning import plan_of
from environments.reader import read_environment
from environments.reader.assignment import Assignment
from environments.root import Root
from lab.preview.cloudwatch import drawn
from reports.markdown import paragraph, section, table
from sizing.plan import Plan
from sizing.units import format_usd

EXAMPLE: Final = "prod"
PICTURE: Final = "dashboard-cache.svg"
SIGNS: Final = {
    "GreaterThanThreshold": ">",
    "GreaterThanOrEqualToThreshold": "≥",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "≤",
}


def dashboards_page() -> str:
    """Return the page, in Markdown."""
    return section(*_head(), *_truth(), *_alarms(), *_calls(), *_graphs(), *_costs()) + "\n"


def write_dashboard_pictures(docs: Path) -> None:
    """Write the picture of the cache dashboard that the page shows."""
    from lab.preview.page import board_svg  # noqa: PLC0415 - draws, and the page itself does not

    plan, root = _example()
    (docs / "pictures" / PICTURE).write_text(board_svg(plan, root, "cache"), encoding="utf-8")


@cache
def _example() -> tuple[Plan, Root]:
    environment = read_environment(EXAMPLE)
    return launch_of(environment, environment.active).plan, environment.root


def _head() -> Iterator[str]:
    from lab.preview.replay import STRETCH  # noqa: PLC0415 - see above

    plan, root = _example()
    yield "# Dashboards and alarms"
    yield paragraph(
        f"{len(boards(plan, root))} dashboards and {len(alarms(plan, root))} alarms with thresholds from your plan "
        f"show what the caches do now, and the alarms are grouped into {len(composite_alarms(plan, root))} "
        "notifications, so that one cause notifies you once."
    )
    yield paragraph(
        "HBase's own `l2CacheHitRatio` cannot show that. It is a mean since the start of each server: a restart resets "
        "it, after a month hardly anything changes it, and its average over servers describes none of them. Therefore "
        "a program on each core node, the *publisher*, reads the counters of its RegionServer once a minute and "
        "publishes the figures of that minute. Dashboards show sums and extremes of these metrics, and alarms query "
        f"them. `configurations/metrics.py` lists all {len(METRICS)} metrics that are published; each is on a "
        "dashboard or in an alarm."
    )
    yield paragraph(
        "CloudWatch cannot compute the ratio of each server from the counters that EMR sends. *Metric math* finds "
        "servers by `SEARCH`, but cannot divide one array of series by another, and an alarm may not use `SEARCH`. "
        "*Metrics Insights* finds servers in alarms, too, and its alarms name the series that breach. It only "
        "aggregates, without rates or ratios, so warmbase uses it for alarms on the publisher's metrics. *PromQL* "
        "finds servers, computes rates and divides, in graphs and in alarms. It reads only metrics that arrive by "
        "OTLP, and EMR's agent does not send OTLP (`metrics_destination` is CLOUDWATCH or PROMETHEUS). If it does one "
        "day, PromQL can replace the publisher ([decision 0005](decisions/0005-metrics-are-named-one-by-one.md))."
    )
    yield paragraph(
        "If you have a dashboard that was made for the published recipe, it does not find `l2CacheHitCount` and "
        "`l2CacheMissCount`. warmbase does not publish them, because they count since the start of a server and HBase "
        "counts misses twice, so they give wrong ratios. Draw `Hits` and `Misses` of the namespace `warmbase` instead."
    )
    yield f"![The dashboard of the cache, drawn from recorded counters](pictures/{PICTURE})"
    yield paragraph(
        f"*The dashboard `{next(iter(boards(plan, root)))}`, drawn from the counters of a real HBase. Reads warm "
        "three RegionServers; then one is restarted, one is killed, and one returns without its cache. One recorded "
        f"second is drawn as {STRETCH}. In the first graph, the mean since the start falls whenever a server "
        "restarts, although hardly any read misses; the hit ratio of the minute falls only after the loss of a cache.* "
        f"`warmbase dashboard {EXAMPLE} --preview FILE.html` draws all dashboards for "
        "the plan of an environment. You need no account. To read values off a graph, point at it or touch it, or move "
        "to it with the Tab key and press the arrow keys. `warmbase lab run` with the scenario `dashboards` makes such "
        "a recording on your machine, with every figure that the graphs draw."
    )


def _truth() -> Iterator[str]:
    from lab.preview.publication import replayed_cluster  # noqa: PLC0415 - see above
    from lab.preview.replay import MINUTE, lifetime_ratio, three_servers, true_ratio  # noqa: PLC0415 - see above

    plan, root = _example()
    servers = three_servers()
    store = replayed_cluster(plan, root)
    by_title = {graph.title: drawn(graph, store) for graph in cache_graphs(plan)}
    weighted, worst = (
        next(curves[0].series for title, curves in by_title.items() if title == wanted)
        for wanted in (HIT_RATIO_TITLE, WORST_TITLE)
    )
    rows = []
    for begins in range(MINUTE, servers[0].seconds, MINUTE):
        true, mean = true_ratio(servers, begins), lifetime_ratio(servers, begins + MINUTE)
        if begins in weighted and true is not None and mean is not None:
            figures = (true, weighted[begins], worst.get(begins), mean)
            rows.append((str(begins // MINUTE), *("" if figure is None else f"{figure:.3f}" for figure in figures)))
    yield "## The hit ratio, and what the lifetime mean would have shown"
    yield paragraph(
        "The table shows the minutes of the picture above. *true* is computed from every sample of every server, by "
        "code that the nodes do not use. *drawn* is what CloudWatch makes from the dashboard's expression and the "
        "published metrics. *lifetime mean* is `l2CacheHitRatio`, averaged over the servers. "
        f"Events: {_events()}."
    )
    yield table(("minute", "true", "drawn", "drawn, worst server", "lifetime mean"), rows, right=range(5))
    yield paragraph(
        "Tests check that *true* and *drawn* differ by at most 0.002 in every window, for these servers, for clean "
        "restarts, for a kill -9 and for a lost cache. They also check that the alarms on hits, misses, fill, restarts "
        "and silence fire and clear when they should. Each alarm on what no recording takes beyond its threshold "
        "(latency, pauses, disks, S3 errors) is given a series that crosses the threshold and returns."
    )


def _events() -> str:
    """Return the events of the recording, each with its minute."""
    from lab.preview.replay import MINUTE, STRETCH, recorded_cluster  # noqa: PLC0415 - see above

    minutes = [f"{event.what} in minute {STRETCH * event.seconds / MINUTE:.0f}" for event in recorded_cluster().events]
    return "; ".join(minutes)


def _alarms() -> Iterator[str]:
    plan, root = _example()
    all_alarms = alarms(plan, root)
    yield "## Alarms"
    yield paragraph(
        f"The thresholds are those of `{EXAMPLE}`; every plan has its own. These alarms notify nobody themselves. A "
        "period without data does not breach, except where the table says so."
    )
    prefix = f"warmbase-{plan.environment}-{plan.cluster}-"
    yield table(
        ("alarm", "condition", "means"),
        ((f"`{alarm.name.removeprefix(prefix)}`", _condition(alarm), alarm.description) for alarm in all_alarms),
    )


def _condition(alarm: Alarm) -> str:
    watched = alarm.watched
    if isinstance(watched, Exact):
        what = f"{watched.statistic.lower()} of `{watched.metric.cloudwatch}`"
    else:
        what = f"`{watched.split(' FROM ')[0].removeprefix('SELECT ')}` of the nodes"
    minutes = alarm.period_seconds // 60
    lasting = f"{alarm.breaching} of {alarm.periods}" if alarm.breaching != alarm.periods else f"{alarm.periods}"
    missing = "; no data breaches too" if alarm.missing == "breaching" else ""
    return f"{what} {SIGNS[alarm.comparison]} {alarm.threshold:,.6g}, {lasting} x {minutes} min{missing}"


def _calls() -> Iterator[str]:
    from lab.preview.publication import replayed_cluster  # noqa: PLC0415 - see above
    from lab.preview.replay import three_servers  # noqa: PLC0415 - see above
    from lab.preview.timeline import timeline  # noqa: PLC0415 - see above

    plan, root = _example()
    prefix = f"warmbase-{plan.environment}-{plan.cluster}-"
    yield "## Notifications"
    yield paragraph(
        "Five composite alarms notify you, one for each kind of cause: they publish to the topic of the monitoring "
        "stack when their rule becomes true, and when it stops being true. If a server is missing, hit ratios fall "
        "too, and only `call-servers` notifies you. A cache that is filling on a young server is warming up, so nobody "
        "is notified, unless a restart lost the cache."
    )
    yield table(
        ("composite alarm", "rule", "means"),
        (
            (
                f"`{composite_alarm.name.removeprefix(prefix)}`",
                composite_alarm.rule.replace('ALARM("', "").replace('")', "").replace(prefix, ""),
                composite_alarm.description,
            )
            for composite_alarm in composite_alarms(plan, root)
        ),
    )
    three = replace(plan, core=replace(plan.core, count=3))
    minutes = timeline(replayed_cluster(three, root), three_servers()[0].seconds, three, root)
    yield paragraph("In the minutes of the picture, with three of three planned nodes:")
    yield table(
        ("alarm", "in ALARM in minutes"),
        ((f"`{name.removeprefix(prefix)}`", _spans(breaching)) for name, breaching in minutes.items()),
    )


def _spans(minutes: Sequence[int]) -> str:
    spans: list[list[int]] = []
    for minute in minutes:
        if spans and minute == spans[-1][1] + 1:
            spans[-1][1] = minute
        else:
            spans.append([minute, minute])
    return ", ".join(f"{first} to {last}" if first != last else f"{first}" for first, last in spans)


def _graphs() -> Iterator[str]:
    plan, root = _example()
    yield "## Graphs"
    titles = {graph.title for graphs in boards(plan, root).values() for graph in graphs}
    for name, graphs in boards(plan, root).items():
        yield f"`{name}`:"
        yield _graph_table(graphs)
    in_hdfs = read_environment(EXAMPLE, [Assignment.parse("storage.mode=hdfs")])
    others = boards(plan_of(in_hdfs, in_hdfs.active), root)
    yield "If the storage mode is `hdfs`:"
    yield _graph_table([graph for graphs in others.values() for graph in graphs if graph.title not in titles])


def _graph_table(graphs: Sequence[Graph]) -> str:
    return table(
        ("graph", "lines of the plan", "metrics"),
        (
            (
                f'<a id="{graph.anchor}"></a>{graph.title}',
                "; ".join(f"{mark.label} ({mark.value:,.6g})" for mark in graph.marks),
                "; ".join(f"`{metric.cloudwatch}`: {metric.meaning}" for metric in graph.metrics),
            )
            for graph in graphs
        ),
    )


def _costs() -> Iterator[str]:
    plan, _ = _example()
    of_nodes = sum(metric.source is MetricSource.NODE for metric in METRICS)
    yield "## What it costs"
    yield table(
        ("item", "a month", "consists of"),
        (
            (line.item, format_usd(line.usd_per_month), line.because)
            for line in plan.cost.lines
            if line.item.startswith("CloudWatch")
        ),
        right=[1],
    )
    yield paragraph(
        f"This is for `{EXAMPLE}`, with {plan.core.count} core nodes and {plan.primary.count} primary nodes. Each core "
        f"node publishes {of_nodes} metrics itself. AWS charges an alarm on a query for each series that the query "
        "finds, and a composite alarm as five alarms."
    )
