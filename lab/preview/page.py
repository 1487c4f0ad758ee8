"""Dashboards drawn: the same graphs in the same places with the same titles, as one page or one picture.

What was not recorded (HDFS) is drawn from the plan, and says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import altair as alt
import vl_convert
from msgspec import Struct

from dashboards.boards import boards
from dashboards.cache import HIT_RATIO_TITLE
from dashboards.graph import Graph, Mark
from environments.root import Root
from lab.hbase.report.charts import CONFIG, MANY, PALETTE
from lab.preview.cloudwatch import Drawn, MetricStore, drawn
from lab.preview.publication import UNKNOWN, replayed_cluster
from lab.preview.replay import MINUTE, STRETCH, ReplayedServer, lifetime_ratio, recorded_cluster, three_servers
from lab.preview.scale import note, recorded_marks
from sizing.plan import Plan

Spec = dict[str, Any]

WIDTH: Final = 420
HEIGHT: Final = 180
COLUMNS: Final = 2
TITLE_LETTERS: Final = 58
SUBTITLE_LETTERS: Final = 76
INK: Final = "#444444"
MARK: Final = "#a8703a"
"""The colour of the plan's lines and of events. Its contrast with white and with black is at least 3:1."""
MARK_LETTERS: Final = 60
SCALE: Final = 1.5
BACK: Final = "back"
LIFETIME: Final = "mean since the start, as HBase reports it"
WHAT: Final = (
    "The curves come from the counters of a real HBase. Reads warm the caches of three small RegionServers. Then one "
    "server is restarted, one is killed, and one is restarted without its cache. One recorded second is drawn as "
    f"{STRETCH}; rates are those of the recording. The dashed lines show the values of this environment's plan, or "
    "those of the recorded servers where the line says so."
)
HOW: Final = (
    "To read values off a graph, point at it or touch it, or move to it with the Tab key and press the arrow keys."
)
PARTS: Final = re.compile(r' (?:role="graphics-[a-z]+"|aria-[a-z]+="[^"]*")')
"""The accessible names of the parts of a graph. A screen reader gets one image instead, with its values below it."""
HOVER: Final = Path(__file__).with_name("hover.js")
DIGITS: Final = 4
STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 'Liberation Sans',Arial,sans-serif;margin:2rem auto;max-width:1240px;padding:0 1rem;"
    "color:light-dark(#222,#ddd);background:light-dark(#fff,#161616)}"
    "h2{margin-top:2.5rem;border-bottom:1px solid #8888}"
    "section{display:grid;gap:2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,480px),1fr))}"
    "figure{margin:0;break-inside:avoid}svg{display:block;width:100%;height:auto;touch-action:pan-y}"
    "figcaption,.readout{font-size:.8em}.readout{margin:0;min-height:3em}a{color:inherit}"
    "@media print{.readout{display:none}body{font-size:11px;margin:0}section{grid-template-columns:1fr 1fr;gap:1rem}}"
)


def page_html(plan: Plan, root: Root, docs: str) -> str:
    """Return one page that needs nothing else.

    Each graph links to its row in docs/dashboards.md, whose address is `docs`.
    """
    preview = _Preview(plan=plan, root=root)
    title = escape(f"Dashboards of {plan.environment} {plan.cluster}, previewed")
    parts = "".join(_section(preview, name, graphs, docs) for name, graphs in boards(plan, root).items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style><main><h1>{title}</h1><p>{escape(WHAT)}</p><p>{HOW}</p>{parts}</main>"
        f"<script>{HOVER.read_text(encoding='utf-8')}</script></html>\n"
    )


def page_png(plan: Plan, root: Root, board: str | None = None) -> bytes:
    """Return all of it as one picture, or one dashboard: `cache`, `reads` or `nodes`."""
    preview = _Preview(plan=plan, root=root)
    wanted = {name: graphs for name, graphs in boards(plan, root).items() if board in {None, name.rsplit("-", 1)[1]}}
    return vl_convert.vegalite_to_png(_together(wanted, preview), scale=SCALE)


def board_svg(plan: Plan, root: Root, board: str) -> str:
    """One dashboard as a picture that is the same on every machine."""
    preview = _Preview(plan=plan, root=root)
    [graphs] = [graphs for name, graphs in boards(plan, root).items() if name.endswith(f"-{board}")]
    return vl_convert.vegalite_to_svg(_spec(_board(graphs, preview), preview, graphs, INK, background="white"))


class _Preview(Struct, frozen=True, kw_only=True, dict=True):
    """The recorded servers, and what the graphs of a plan show of them."""

    plan: Plan
    root: Root

    @cached_property
    def servers(self) -> tuple[ReplayedServer, ...]:
        return three_servers()

    @cached_property
    def store(self) -> MetricStore:
        return replayed_cluster(self.plan, self.root)

    def curves(self, graph: Graph) -> list[Drawn]:
        """Return the curves of a graph that have data. The graph of the hit ratio also has that which HBase reports."""
        curves = [curve for curve in drawn(graph, self.store) if curve.series]
        if graph.title == HIT_RATIO_TITLE:
            minutes = range(0, self.servers[0].seconds, MINUTE)
            ratios = ((minute, lifetime_ratio(self.servers, minute)) for minute in minutes)
            series = {minute: ratio for minute, ratio in ratios if ratio is not None}
            curves.append(Drawn(label=LIFETIME, series=series))
        return curves

    @cached_property
    def rows(self) -> Mapping[str, list[Spec]]:
        """Return the points of each graph's curves, by the graph's title."""
        return {
            graph.title: [
                {"series": _series_name(curve), "minute": second / MINUTE, "value": value}
                for curve in self.curves(graph)
                for second, value in curve.series.items()
                if second >= 0
            ]
            for graphs in boards(self.plan, self.root).values()
            for graph in graphs
        }

    def marks(self, graph: Graph) -> list[Mark]:
        """Return the lines of the plan; where the recorded servers are smaller, their lines, which say so."""
        return recorded_marks(graph, self.plan)

    @cached_property
    def events(self) -> list[Spec]:
        """Return when each server was restarted, killed or emptied, and when it was back, in minutes."""
        began = [
            {"minute": STRETCH * event.seconds / MINUTE, "says": event.what} for event in recorded_cluster().events
        ]
        back = sorted(end for server in self.servers for _, end in server.absences)
        return began + [{"minute": end / MINUTE, "says": BACK} for end in back]


def _series_name(curve: Drawn) -> str:
    """Return the label of a curve without the dimensions that are not recorded, such as the node's type."""
    return curve.label.replace(f" {UNKNOWN}", "") or "all"


def _section(preview: _Preview, name: str, graphs: Sequence[Graph], docs: str) -> str:
    figures = "".join(_figure(preview, graph, docs) for graph in graphs)
    return f"<h2>{escape(name)}</h2><section>{figures}</section>"


def _figure(preview: _Preview, graph: Graph, docs: str) -> str:
    """Return a graph with its values, and with a link to its row in the documentation."""
    svg = vl_convert.vegalite_to_svg(_spec(_graph(graph, preview), preview, [graph], "currentColor"))
    title = graph.title
    picture = PARTS.sub("", svg).replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" tabindex="0" ', 1)
    values = (
        f'<p class="readout" aria-live="polite"></p><script type="application/json">{_values(preview, graph)}</script>'
    )
    link = f'<a href="{escape(docs)}#{graph.anchor}" aria-label="What is drawn: {escape(title)}">What is drawn</a>'
    return f"<figure>{picture}{values}<figcaption>{link}</figcaption></figure>"


def _values(preview: _Preview, graph: Graph) -> str:
    """Return the curves of a graph as JSON for an HTML page, with its unit and the last minute of its axis."""
    series = dict[str, list[tuple[float, float]]]()
    for row in preview.rows[graph.title]:
        series.setdefault(row["series"], []).append((row["minute"], float(f"{row['value']:.{DIGITS}g}")))
    minutes = [row["minute"] for row in (*preview.rows[graph.title], *preview.events)]
    document = {"unit": graph.unit, "most": max(minutes, default=1), "series": series}
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")


def _together(wanted: Mapping[str, Sequence[Graph]], preview: _Preview) -> Spec:
    whole = [
        _board(graphs, preview).properties(title=alt.Title(name, fontSize=20, anchor="start", color=INK, offset=14))
        for name, graphs in wanted.items()
    ]
    drawn_graphs = [graph for graphs in wanted.values() for graph in graphs]
    return _spec(alt.vconcat(*whole, spacing=40), preview, drawn_graphs, INK, background="white", padding=24)


def _board(graphs: Sequence[Graph], preview: _Preview) -> alt.ConcatChart:
    board = alt.concat(*(_graph(graph, preview) for graph in graphs), columns=COLUMNS, spacing=28)
    apart: alt.ConcatChart = board.resolve_scale(color="independent", x="independent", y="independent")
    return apart


def _spec(chart: alt.TopLevelMixin, preview: _Preview, graphs: Sequence[Graph], ink: str, **config: object) -> Spec:
    """Return a chart with the data of its graphs, which altair would copy at each step of its construction."""
    spec: Spec = chart.to_dict(validate=False)
    data = {graph.title: preview.rows[graph.title] for graph in graphs}
    return spec | {"config": {**_config(ink), **config}, "datasets": {**spec["datasets"], **data}}


def _config(ink: str) -> Spec:
    config: Spec = json.loads(json.dumps(CONFIG).replace("currentColor", ink))
    config["legend"] |= {"orient": "bottom", "direction": "horizontal", "columns": 2, "labelLimit": 240}
    config["title"] = {"color": ink, "subtitleColor": ink}
    return config


def _graph(graph: Graph, preview: _Preview) -> alt.LayerChart | alt.FacetChart:
    rows = preview.rows[graph.title]
    marks = preview.marks(graph)
    most = graph.most or max([row["value"] for row in rows] + [mark.value for mark in marks], default=0.0)
    chart: alt.LayerChart | alt.FacetChart = alt.layer(
        _events(preview.events), _marks(marks, _axis(graph, most)), _curves(graph, rows, most)
    )
    titled: alt.LayerChart | alt.FacetChart = chart.properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(
            wrap(graph.title, TITLE_LETTERS),
            subtitle=wrap(note(graph), SUBTITLE_LETTERS),
            anchor="start",
            fontSize=13,
        ),
    )
    return titled


def _curves(graph: Graph, rows: Sequence[Spec], most: float) -> alt.Chart:
    names = list(dict.fromkeys(row["series"] for row in rows))
    color = alt.Color("series:N").scale(alt.Scale(domain=names, range=list(PALETTE[: max(1, len(names))])))
    lines = alt.Chart(alt.NamedData(name=graph.title)).mark_line(strokeWidth=1.8, strokeJoin="round")
    chart: alt.Chart = lines.encode(
        alt.X("minute:Q").title("minutes").scale(alt.Scale(nice=False, zero=True)),
        _axis(graph, most),
        color.legend(None if names == ["all"] else alt.Legend()),
    )
    return chart


def _axis(graph: Graph, most: float) -> alt.Y:
    labels = alt.Axis(format="~s") if most >= MANY else alt.Axis()
    return alt.Y("value:Q").title(graph.unit).scale(alt.Scale(domain=[0, most or 1.0])).axis(labels)


def _marks(marks: Sequence[Mark], axis: alt.Y) -> alt.LayerChart:
    """Lines of the plan, each with what it says at its left, above it, or below it at the very top."""
    values = [{"value": mark.value, "says": mark.label[:MARK_LETTERS]} for mark in marks]
    base = alt.Chart(alt.InlineData(values=values)).encode(axis)
    rules = base.mark_rule(color=MARK, strokeDash=[5, 4], strokeWidth=1)
    words = base.mark_text(color=MARK, align="left", baseline="bottom", dx=4, dy=-1, fontSize=10)
    marked: alt.LayerChart = rules + words.encode(alt.Text("says:N"), x=alt.value(0))
    return marked


def _events(events: Sequence[Spec]) -> alt.LayerChart | alt.FacetChart:
    """Mark each event with a vertical line and a label above the graph; the label of a return is higher."""
    rules = _event(events).mark_rule(color=MARK, strokeWidth=1, opacity=0.7)
    returns = [event for event in events if event["says"] == BACK]
    others = [event for event in events if event["says"] != BACK]
    marked: alt.LayerChart | alt.FacetChart = alt.layer(rules, _event_labels(others, -13), _event_labels(returns, -23))
    return marked


def _event_labels(events: Sequence[Spec], dy: float) -> alt.Chart:
    words = _event(events).mark_text(color=MARK, align="left", dx=2, dy=dy, baseline="bottom", fontSize=9)
    chart: alt.Chart = words.encode(alt.Text("says:N"), y=alt.value(0))
    return chart


def _event(values: Sequence[Spec]) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=list(values))).encode(alt.X("minute:Q"))
    return chart
