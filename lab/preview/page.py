"""Dashboards drawn: the same graphs in the same places with the same titles, as one page or one picture.

What no recording has (heaps, volumes, S3's refusals) is drawn empty, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any, Final

import altair as alt
import vl_convert

from dashboards.boards import boards
from dashboards.graph import Graph
from environments.root import Root
from lab.hbase.report.charts import CONFIG, MANY, PALETTE
from lab.preview.cloudwatch import Drawn, MetricStore, drawn
from lab.preview.replay import MINUTE, replay, three_servers
from sizing.plan import Plan

Spec = dict[str, Any]

WIDTH: Final = 520
HEIGHT: Final = 180
COLUMNS: Final = 2
TITLE_LETTERS: Final = 74
INK: Final = "#444444"
MARK: Final = "#8a5a2b"
MARK_LETTERS: Final = 60
SCALE: Final = 1.5
WHAT: Final = (
    "Drawn of counters of a real HBase: three RegionServers warm by reads; then one is restarted, one is killed, and "
    "one comes back without its cache. A recorded second is drawn as twelve. Lines of the plan are this environment's."
)
STYLE: Final = (
    "body{font:15px/1.5 'Liberation Sans',Arial,sans-serif;margin:2rem auto;max-width:1240px;padding:0 1rem;color:#222;"
    "background:#fff}h2{margin-top:2.5rem;border-bottom:1px solid #ccc}svg{max-width:100%;height:auto}"
)


def page_html(plan: Plan, root: Root) -> str:
    """Return one page that needs nothing else."""
    store = replay(three_servers(), root)
    parts = []
    for name, graphs in boards(plan, root).items():
        svg = vl_convert.vegalite_to_svg(_board(graphs, store).to_dict() | {"config": _config()})
        label = escape(f"dashboard {name}: {len(graphs)} graphs")
        parts.append(f"<h2>{escape(name)}</h2>" + svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))
    title = escape(f"Dashboards of {plan.environment} {plan.cluster}, previewed")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1><p>{escape(WHAT)}</p>{''.join(parts)}</html>\n"
    )


def page_png(plan: Plan, root: Root, board: str | None = None) -> bytes:
    """Return all of it as one picture, or one dashboard: `cache`, `reads` or `nodes`."""
    store = replay(three_servers(), root)
    wanted = {name: graphs for name, graphs in boards(plan, root).items() if board in {None, name.rsplit("-", 1)[1]}}
    return vl_convert.vegalite_to_png(_together(wanted, store), scale=SCALE)


def board_svg(plan: Plan, root: Root, board: str) -> str:
    """One dashboard as a picture that is the same on every machine."""
    store = replay(three_servers(), root)
    [graphs] = [graphs for name, graphs in boards(plan, root).items() if name.endswith(f"-{board}")]
    return vl_convert.vegalite_to_svg(
        _board(graphs, store).to_dict() | {"config": {**_config(), "background": "white"}}
    )


def _together(wanted: Mapping[str, Sequence[Graph]], store: MetricStore) -> Spec:
    whole = [
        _board(graphs, store).properties(title=alt.Title(name, fontSize=20, anchor="start", color=INK, offset=14))
        for name, graphs in wanted.items()
    ]
    page: Spec = alt.vconcat(*whole, spacing=40).to_dict()
    return page | {"config": {**_config(), "background": "white", "padding": 24}}


def _board(graphs: Sequence[Graph], store: MetricStore) -> alt.ConcatChart:
    charts = [_graph(graph, drawn(graph, store)) for graph in graphs]
    board = alt.concat(*charts, columns=COLUMNS, spacing=28)
    apart: alt.ConcatChart = board.resolve_scale(color="independent", x="independent", y="independent")
    return apart


def _config() -> Spec:
    config: Spec = json.loads(json.dumps(CONFIG).replace("currentColor", INK))
    config["legend"] |= {"orient": "bottom", "direction": "horizontal", "columns": 3, "labelLimit": 240}
    return config


def _graph(graph: Graph, curves: Sequence[Drawn]) -> alt.LayerChart | alt.FacetChart:
    rows = [
        {"series": curve.label or "all", "minute": second / MINUTE, "value": value}
        for curve in curves
        for second, value in curve.series.items()
        if second >= 0
    ]
    title = [*wrap(graph.title, TITLE_LETTERS), *(() if rows else ("(no recording has it)",))]
    chart: alt.LayerChart | alt.FacetChart = alt.layer(_marks(graph, rows), _curves(graph, rows)).properties(
        width=WIDTH, height=HEIGHT, title=alt.Title(title, anchor="start", fontSize=13, color=INK)
    )
    return chart


def _curves(graph: Graph, rows: Sequence[Spec]) -> alt.Chart:
    names = list(dict.fromkeys(row["series"] for row in rows))
    color = alt.Color("series:N").scale(alt.Scale(domain=names, range=list(PALETTE[: max(1, len(names))])))
    lines = alt.Chart(alt.InlineData(values=list(rows))).mark_line(strokeWidth=1.8, strokeJoin="round")
    chart: alt.Chart = lines.encode(
        alt.X("minute:Q").title("minutes").scale(alt.Scale(nice=False, zero=True)),
        _axis(graph, rows),
        color.legend(None if names in ([], ["all"]) else alt.Legend()),
    )
    return chart


def _axis(graph: Graph, rows: Sequence[Spec]) -> alt.Y:
    most = graph.most or max([row["value"] for row in rows] + [mark.value for mark in graph.marks], default=0.0)
    labels = alt.Axis(format="~s") if most >= MANY else alt.Axis()
    return alt.Y("value:Q").title(graph.unit).scale(alt.Scale(domain=[0, most or 1.0])).axis(labels)


def _marks(graph: Graph, rows: Sequence[Spec]) -> alt.LayerChart:
    """Lines of the plan, each with what it says at its left, above it, or below it at the very top."""
    marks = [{"value": mark.value, "says": mark.label[:MARK_LETTERS]} for mark in graph.marks]
    base = alt.Chart(alt.InlineData(values=marks)).encode(_axis(graph, rows))
    rules = base.mark_rule(color=MARK, strokeDash=[5, 4], strokeWidth=1)
    words = base.mark_text(color=MARK, align="left", baseline="bottom", dx=4, dy=-1, fontSize=10)
    marked: alt.LayerChart = rules + words.encode(alt.Text("says:N"), x=alt.value(0))
    return marked
