"""`warmbase dashboard` draws the dashboards of a cluster before the cluster exists."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cli.options import chosen_cluster, cluster_option, environment_argument
from cli.terminal import echo
from configurations.launch import launch_of
from environments.reader import read_environment
from facts.whole_file import write_whole
from sizing.problem import InvalidInput, Problem

KINDS = (".html", ".png")


@click.command()
@environment_argument
@cluster_option
@click.option(
    "--preview",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write: a page (.html) or a picture (.png).",
)
@click.option(
    "--board", type=click.Choice(["cache", "reads", "nodes"]), help="Draw only this dashboard (for a picture)."
)
def dashboard(environment: str, cluster: str | None, preview: Path, board: str | None) -> None:
    """Preview the dashboards, drawn from recorded metrics.

    The graphs, their order and the lines from the plan are those of the dashboards that `warmbase deploy` creates. The
    curves come from metrics recorded on a real HBase. You need no AWS account.

    \b
    Example:
      warmbase dashboard prod --preview dashboards.html
      warmbase dashboard prod --preview cache.png --board cache
    """
    if preview.suffix not in KINDS:
        raise InvalidInput([_other_kind(preview)])
    from lab.preview.page import page_html, page_png  # noqa: PLC0415 - `--help` draws nothing
    from reports.lab_page import DOCS  # noqa: PLC0415 - as above

    read = read_environment(environment)
    plan = launch_of(read, chosen_cluster(read, cluster)).plan
    is_picture = preview.suffix == ".png"
    docs = Path(os.path.relpath(DOCS / "dashboards.md", preview.parent)).as_posix()
    content = page_png(plan, read.root, board) if is_picture else page_html(plan, read.root, docs).encode()
    try:
        write_whole(preview, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(preview)) from None
    echo(f"{preview}")


def _other_kind(preview: Path) -> Problem:
    return Problem(
        where="--preview",
        what=str(preview),
        why="the suffix selects what is drawn, a page or a picture, and this suffix is neither",
        fix="name a file that ends in .html or .png",
    )
