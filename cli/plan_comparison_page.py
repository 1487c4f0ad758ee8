"""The page that `warmbase plan` prints for two plans: the answer in its first line, then what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.table import Table

from cli.compared_plans import ComparedPlans
from cli.engines.trino.comparison import ComparedTrino
from cli.plan_differences import Row
from cli.terminal import page_columns, rich_text
from sizing.engines.trino.plan import TrinoWarning
from sizing.problem import fix_line
from sizing.warning import Warning  # noqa: A004 - the plan's own word

SIDES: Final = ("before", "after")
NO_BREAK: Final = "\N{NO-BREAK SPACE}%"


def comparison_page(compared: ComparedPlans | ComparedTrino) -> str:
    """Return the page, as wide as the terminal up to 120 columns."""
    width = page_columns()
    console = Console(highlight=False, width=width)
    with console.capture() as page:
        for part in _parts(compared, width):
            console.print(part)
    return "\n".join(line.rstrip() for line in page.get().splitlines())


def _parts(compared: ComparedPlans | ComparedTrino, width: int) -> Iterator[str | Table]:
    yield from _answer(compared, width)
    yield ""
    yield _table(list(zip(SIDES, compared.sources, strict=True)), width)
    yield from _differences(compared, width)
    for other in compared.analytics if isinstance(compared, ComparedPlans) else ():
        yield ""
        yield from _answer(other, width)
        yield from _differences(other, width)


def _answer(compared: ComparedPlans | ComparedTrino, width: int) -> Iterator[str]:
    yield from (f"[bold]{rich_text(line)}[/bold]" for line in _wrapped(compared.headline, width))
    yield from map(rich_text, _wrapped(compared.same_nodes, width))


def _differences(compared: ComparedPlans | ComparedTrino, width: int) -> Iterator[str | Table]:
    if compared.is_empty:
        yield f"\n{compared.no_difference}"
        return
    for title, rows in (("What differs", compared.figures), ("Bill, a month", compared.cost)):
        if rows:
            yield f"\n[bold]{title}[/bold]"
            yield _table(rows, width, headed=True)
    if compared.applied:
        yield "\n[bold]How a running cluster gets there[/bold]"
        yield _table(compared.applied, width)
        yield from map(rich_text, compared.cost_lines)
    new: Sequence[Warning | TrinoWarning]
    former: Sequence[Warning | TrinoWarning]
    new, former = compared.warnings
    for title, warnings in (("New warnings", new), ("Warnings that no longer apply", former)):
        if warnings:
            yield f"\n[bold]{title}[/bold]"
            yield from _warnings(warnings, width)
    yield f"\nEach setting and how it is applied: {rich_text(compared.diff_command)} --against launch|live|FILE"


def _wrapped(answer: str, width: int) -> list[str]:
    """Return the lines of an answer; a percentage stays on one line."""
    lines = wrap(answer.replace(" %", NO_BREAK), width, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " %") for line in lines]


def _table(rows: Sequence[Row], width: int, *, headed: bool = False) -> Table:
    table = Table(box=None, show_header=headed, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="dim")
    table.add_column(style="cyan", no_wrap=True)
    for heading in SIDES if headed else SIDES[:1]:
        table.add_column(heading, ratio=1, overflow="fold")
    for row in rows:
        table.add_row(*map(rich_text, row))
    return table


def _warnings(warnings: Sequence[Warning | TrinoWarning], width: int) -> Iterator[str]:
    for warning in warnings:
        text = f"{warning.message} ({fix_line(warning.fix)})"
        yield from map(rich_text, wrap(text, width, subsequent_indent="  ", break_on_hyphens=False))
