"""`warmbase published` compares the calculator with benchmarks that others have published."""

from __future__ import annotations

import click

from cli.terminal import echo


@click.command()
def published() -> None:
    """Compare the calculator with published benchmarks.

    Prints docs/published-results.md as Markdown, computed afresh with the newest prices.

    \b
    Example:
      warmbase published > docs/published-results.md
    """
    from reports.published_page import page_text  # noqa: PLC0415 - the help needs none of it

    echo(page_text(), nl=False)
