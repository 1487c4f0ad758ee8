"""warmbase reference: the generated pages of docs/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import click

from cli.properties_page import properties_page
from cli.recipe_page import recipe_page
from cli.rules_page import rules_page

__all__ = ["PAGES", "reference"]

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "properties": properties_page,
    "lint-rules": rules_page,
    "published-recipe": recipe_page,
}
"""Each page by its name in docs/; a test keeps the files current."""


@click.command()
@click.argument("page", type=click.Choice(list(PAGES)))
def reference(page: str) -> None:
    """Print a page of reference: properties, rules, or lint of the published recipe.

    As Markdown; docs/ has them as files.

    \b
    Example:
      warmbase reference properties > docs/properties.md
    """
    click.echo(PAGES[page](), nl=False)
