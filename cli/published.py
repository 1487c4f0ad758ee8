"""warmbase published: the calculator beside what others have published."""

from __future__ import annotations

import click

__all__ = ["published"]


@click.command()
def published() -> None:
    """Print the calculator's figures beside published ones, as Markdown.

    The page is docs/published-results.md, computed anew with the newest prices.

    \b
    Example:
      warmbase published > docs/published-results.md
    """
    from reports.published_page import page_text  # noqa: PLC0415 - the help needs none of it

    click.echo(page_text(), nl=False)
