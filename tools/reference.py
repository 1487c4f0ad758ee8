"""`python -m tools.reference PAGE` prints a page of docs/ that is generated from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import click

from tools.differences_page import differences_page
from tools.environment_page import environment_page
from tools.lab_page import DOCS, RUNS, lab_results_page, write_lab_results
from tools.lint_pages import aws_configurations_page, recipe_page, rules_page
from tools.properties_page import properties_page
from tools.published.page import page_text
from tools.security_page import security_page
from warmbase.cli.terminal import echo

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "environment": environment_page,
    "properties": properties_page,
    "lint-rules": rules_page,
    "published-recipe": recipe_page,
    "aws-configurations": aws_configurations_page,
    "security": security_page,
    "differences": differences_page,
    "published-results": page_text,
}
"""Each page that is generated from the code, by its name in docs/; a test keeps the files current."""


@click.command()
@click.argument("page", type=click.Choice([*PAGES, *RUNS]))
@click.option("--write", is_flag=True, help="Write the page to docs/, with its pictures, instead of printing it.")
def reference(*, page: str, write: bool) -> None:
    """Print a reference page that is generated from the code.

    The pages are Markdown, and docs/ has them, too. The pages whose names begin with `lab-` are generated from the lab
    runs in the JSON files beside them, and are written together.

    \b
    Example:
      python -m tools.reference properties
      python -m tools.reference lab-results --write
    """
    if not write:
        echo(lab_results_page(DOCS, page) if page in RUNS else PAGES[page](), nl=False)
    elif page in RUNS:
        write_lab_results(DOCS)
    else:
        (DOCS / f"{page}.md").write_text(PAGES[page](), encoding="utf-8")


if __name__ == "__main__":
    reference()
