"""docs/dashboards.md: what is drawn, what is alarmed on, who is called, and that all of it is true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from configurations.launch import launch_of
from configurations.metrics import METRICS, MetricSource
from dashboards.alarm import Alarm
from dashboards.alarms import alarms
from dashboards.boards import boards
from dashboards.cache import HIT_RATIO_TITLE, WORST_TITLE, cache_graphs
from dashboards.composite_alarms import composite_alarms
from dashboards.graph import Exact
from environments.reader import read_environment
from lab.preview.cloudwatch import drawn
from reports.markdown import bullets, paragraph, section, table
from sizing.plan import Plan
from sizing.units import format_usd

__all__ = ["dashboards_page", "write_dashboard_pictures"]

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
    """The dashboard of the cache, as the page and the README show it."""
    from lab.preview.page import board_svg  # noqa: PLC0415 - draws, and the page itself does not

    plan, bucket = _example()
    (docs / "pictures" / PICTURE).write_text(board_svg(plan, bucket, "cache"), encoding="utf-8")


@cache
def _example() -> tuple[Plan, str]:
    environment = read_environment(EXAMPLE)
    return launch_of(environment, environment.active).plan, environment.root.bucket


def _head() -> Iterator[str]:
    plan, bucket = _example()
    yield "# Dashboards and alarms"
    yield paragraph(
        "`l2CacheHitRatio` is a mean since each server's start. After a restart it begins anew, after a month "
        "nothing moves it, and "
        "averaged over servers it is nobody's ratio. CloudWatch cannot mend that: it divides no two arrays of "
        "series, and an alarm "
        "may not search for servers. So each core node differences its own RegionServer's counters once a minute "
        "and publishes what "
        "that minute was; dashboards take sums and extremes of it, alarms query it. Everything that is published "
        "stands in "
        f"`configurations/metrics.py`, {len(METRICS)} metrics in all, and is drawn or alarmed on."
    )
    yield f"![The dashboard of the cache, drawn of recorded counters](pictures/{PICTURE})"
    yield paragraph(
        f"*The dashboard `{next(iter(boards(plan, bucket)))}`, drawn of counters of a real HBase: three "
        "RegionServers warm by reads; "
        "then one is restarted, one is killed, and one comes back without its cache. A recorded second is drawn as "
        "twelve.* "
        f"`warmbase dashboard {EXAMPLE} --preview FILE.html` draws all three with an environment's own plan, "
        "without an account."
    )


def _truth() -> Iterator[str]:
    from lab.preview.replay import MINUTE, lifetime_ratio, replay, three_servers, true_ratio  # noqa: PLC0415 - see above  # noqa: PLC0415 - the lab is loaded for this page alone

    plan, bucket = _example()
    servers = three_servers()
    store = replay(servers, bucket)
    by_title = {graph.title: drawn(graph, store) for graph in cache_graphs(plan)}
    shown, worst = (
        next(curves[0].series for title, curves in by_title.items() if title == wanted)
        for wanted in (HIT_RATIO_TITLE, WORST_TITLE)
    )
    rows = []
    for begins in range(MINUTE, servers[0].seconds, MINUTE):
        true, mean = true_ratio(servers, begins), lifetime_ratio(servers, begins + MINUTE)
        if begins in shown and true is not None and mean is not None:
            figures = (true, shown[begins], worst.get(begins), mean)
            rows.append((str(begins // MINUTE), *("" if figure is None else f"{figure:.3f}" for figure in figures)))
    yield "## The hit ratio, and what the lifetime mean would have shown"
    yield paragraph(
        "The minutes of the picture above. *True* is reckoned of every sample of every server, by code that the "
        "nodes do not share; "
        "*drawn* is what CloudWatch makes of the dashboard's expression and what the nodes published; *lifetime "
        "mean* is "
        "`l2CacheHitRatio`, averaged over the servers. The servers are restarted in minute 15."
    )
    yield table(("minute", "true", "drawn", "drawn, worst server", "lifetime mean"), rows, right=range(5))
    yield paragraph(
        "Tests hold the two first to within 0.002 in every window, of these servers, of clean restarts, of a kill -9 "
        "and of a lost cache, and that of the alarms below those on hits, misses, fill, restarts and silence fire and "
        "clear when they should. What no recording has (latency, pauses, disks, refusals of S3) is put to each alarm "
        "as a series that crosses its threshold and comes back."
    )


def _alarms() -> Iterator[str]:
    plan, bucket = _example()
    found = alarms(plan, bucket)
    yield "## Alarms"
    yield paragraph(
        f"With the thresholds of `{EXAMPLE}`; each is made of the plan. They call nobody themselves. A period "
        "without data does not "
        "breach, but for those that say so."
    )
    prefix = f"warmbase-{plan.environment}-{plan.cluster}-"
    yield table(
        ("alarm", "in ALARM where", "means"),
        ((f"`{each.name.removeprefix(prefix)}`", _condition(each), each.description) for each in found),
    )


def _condition(alarm: Alarm) -> str:
    watched = alarm.watched
    if isinstance(watched, Exact):
        what = f"{watched.statistic.lower()} of `{watched.metric.cloudwatch}`"
    else:
        what = f"`{watched.split(' FROM ')[0].removeprefix('SELECT ')}` of the nodes"
    minutes = alarm.period_seconds // 60
    lasting = f"{alarm.breaching} of {alarm.periods}" if alarm.breaching != alarm.periods else f"{alarm.periods}"
    missing = "; so is no data" if alarm.missing == "breaching" else ""
    return f"{what} {SIGNS[alarm.comparison]} {alarm.threshold:,.6g}, {lasting} x {minutes} min{missing}"


def _calls() -> Iterator[str]:
    from lab.preview.replay import three_servers  # noqa: PLC0415 - see above
    from lab.preview.timeline import timeline  # noqa: PLC0415 - see above

    plan, bucket = _example()
    prefix = f"warmbase-{plan.environment}-{plan.cluster}-"
    yield "## Who is called, and for what"
    yield paragraph(
        "Composite alarms publish to the topic of the monitoring stack when their rule begins to hold, and when it "
        "ends: one for each "
        "kind of cause. Without a server hit ratios fall, too, and only `call-servers` calls; a cache that is "
        "filling and whose "
        "server is young is warming, and nobody is called for it, but where a restart lost what there was."
    )
    yield table(
        ("call", "rule", "means"),
        (
            (
                f"`{composite_alarm.name.removeprefix(prefix)}`",
                composite_alarm.rule.replace('ALARM("', "").replace('")', "").replace(prefix, ""),
                composite_alarm.description,
            )
            for composite_alarm in composite_alarms(plan, bucket)
        ),
    )
    three = replace(plan, core=replace(plan.core, count=3))
    minutes = timeline(three_servers(), three, bucket)
    yield paragraph("In the minutes of the picture, in which three of three planned nodes run:")
    yield table(
        ("alarm or call", "in ALARM in minutes"),
        ((f"`{name.removeprefix(prefix)}`", _spans(found)) for name, found in minutes.items()),
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
    plan, bucket = _example()
    yield "## Graphs"
    for name, graphs in boards(plan, bucket).items():
        yield f"`{name}`:"
        yield bullets(
            *(
                graph.title + "".join(f"; marked: {mark.label} ({mark.value:,.6g})" for mark in graph.marks)
                for graph in graphs
            )
        )


def _costs() -> Iterator[str]:
    plan, _ = _example()
    of_nodes = sum(metric.source is MetricSource.NODE for metric in METRICS)
    yield "## What it costs"
    yield table(
        ("item", "a month", "made of"),
        (
            (line.item, format_usd(line.usd_per_month), line.because)
            for line in plan.cost.lines
            if line.item.startswith("CloudWatch")
        ),
        right=[1],
    )
    yield paragraph(
        f"For `{EXAMPLE}`, with {plan.core.count} core nodes and {plan.primary.count} primaries. A core node "
        f"publishes {of_nodes} figures "
        "itself. Alarms on a query are charged by the series that it finds, a composite alarm as five."
    )
