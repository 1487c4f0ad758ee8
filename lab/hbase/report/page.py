"""A run as one self-contained HTML page, without network access, scripts or other files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup, escape

from lab.hbase import report
from lab.hbase.report.charts import picture
from lab.hbase.result import Chart, Run

TEMPLATE: Final = "page.html.j2"


def page_html(run: Run) -> str:
    """Return the page. Raises ValueError or TypeError for a target that cannot apply to its figure."""
    return _templates().get_template(TEMPLATE).render(run=run, amounts=report, wording=report)


def prose(text: str) -> Markup:
    """Return the text escaped, with the parts between backticks set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    code = Markup("<code>{}</code>")
    marked = (code.format(part) if number % 2 else escape(part) for number, part in enumerate(parts))
    return Markup("").join(marked)


def bound(text: Markup) -> Markup:
    """Return the text with no line broken between a number and its unit or sign."""
    return Markup(re.sub(r"(?<=[\d±]) (?=\S)", "\u00a0", text))  # noqa: S704 - escaped before


def _drawn(chart: Chart) -> Markup:
    """Return the chart as SVG; Vega escapes names, and nothing else in it comes from the run."""
    return Markup(picture(chart))  # noqa: S704 - drawn here, see above


def _templates() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["prose"] = prose
    templates.filters["bound"] = bound
    templates.filters["drawn"] = _drawn
    templates.filters["slug"] = report.slug
    return templates
