"""`warmbase canary` spends the first hour on a real account, in stages, and removes what it created."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from warmbase.cli.options import confirm, environment_argument, yes_option
from warmbase.cli.page import Page, Paragraph, Part, Row
from warmbase.cli.progress import TerminalProgress
from warmbase.environments.environment import Environment
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import Drifted, OperationFailed
from warmbase.ground.units import format_usd
from warmbase.operations.aws.clients import Aws, environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.canary import CONFIRMED, OPEN, REFUTED, STAGES, Verdict, stage_answers, stage_numbers, verdicts
from warmbase.operations.canary.backstop import MINUTES, Backstop, canary_price
from warmbase.operations.canary.run import LAST_STAGE, Canary, CanaryRun, StageAnswer, open_run
from warmbase.reports.markdown import literal, paragraph, section, table

STAGE: Final = Page(indent=0, label=27)
REHEARSED: Final = {CONFIRMED: "played as documented", REFUTED: "played otherwise", OPEN: OPEN}
"""The verdicts of a rehearsal: an emulator confirms nothing about AWS."""


@click.command()
@environment_argument
@click.option("--stages", default="0-5", show_default=True, help="The stages to run: 0 costs nothing; 0-2; 0,1,5.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where to keep the runs.  [default: canary/, beside the environments]",
)
@yes_option
def canary(environment: str, stages: str, directory: Path | None, *, yes: bool) -> None:
    """Try a small cluster on a real account for an hour.

    The canary deploys a small separate environment with the account, region and release of ENV, and does not change
    ENV. It can settle about half of docs/unconfirmed.md: which of our statements about AWS hold on your account.
    Schedules end its clusters whatever becomes of this command; they exist before the first node. Each stage saves
    its answers; after an interruption, the same command continues. Begin with --stages 0, which costs nothing.

    \b
    Example:
      warmbase canary prod --stages 0
      warmbase canary prod
      warmbase canary prod --stages 5

    Exit codes: 1 a stage failed; 3 a statement was refuted.
    """
    read, numbers = read_environment(environment), stage_numbers(stages)
    aws = environment_aws(read, os.environ)
    run = open_run(read, directory or _beside(Path(read.source)), datetime.now(UTC).date().isoformat())
    Page().show(_proposal(aws, read, run, numbers))
    if not yes:
        confirm("Proceed?")
    run.begin(read)
    variables = dict(os.environ) | {"AWS_REGION": read.region, "AWS_DEFAULT_REGION": read.region}
    trial = Canary(aws=aws, run=run, variables=variables, progress=TerminalProgress())
    trial.refuse_other_stacks()
    trial.remove_stale_lock()
    answers = list[StageAnswer]()
    with environment_lock(aws, trial.environment, "canary"):
        for answer in stage_answers(trial, numbers):
            answers.append(answer)
            STAGE.show(_stage_rows(answer))
            run.write(run.directory / "report.md", _report(trial))
    Page().show(_end(trial))
    _raise(trial, answers)


def _beside(source: Path) -> Path:
    folder = source.resolve().parent
    parent = (folder.parent if folder.name == "environments" else folder) / "canary"
    return parent.relative_to(Path.cwd()) if parent.is_relative_to(Path.cwd()) else parent


def _proposal(aws: Aws, environment: Environment, run: CanaryRun, numbers: tuple[int, ...]) -> Iterator[Part]:
    price = canary_price(environment, run, numbers)
    place = f"account {aws.account}, {environment.region}"
    if price.nodes:
        nodes = " + ".join(map(str, price.nodes))
        price_text = (
            f"The first hour on {place}: at most {nodes} nodes, {format_usd(price.usd)} (at most"
            f" {format_usd(price.most_usd)}; estimates). The clusters end by themselves after {MINUTES} min; stage"
            f" {LAST_STAGE} removes the rest, which costs {format_usd(price.idle_usd_per_hour)} an hour until then."
        )
        yield Paragraph(text=price_text)
    else:
        yield f"Stages without a node on {place}: less than a cent."
    named = f"Stage {numbers[0]}" if len(numbers) == 1 else f"Stages {', '.join(map(str, numbers))}"
    yield Paragraph(text=f"{named}; each saves its answers in {run.directory}/ before the next begins.")


def _stage_rows(answer: StageAnswer) -> Iterator[Row]:
    """Yield a stage: its number, title, time, and what it found."""
    label = f"{answer.stage}  {STAGES[answer.stage].title:<14}{answer.seconds / 60:3.0f} min"
    for number, line in enumerate(answer.failure.splitlines() or answer.lines):
        yield "" if number else label, line


def _counts(trial: Canary, rows: tuple[Verdict, ...]) -> str:
    words = REHEARSED if trial.is_rehearsal else {word: word for word in REHEARSED}
    counts = (f"{sum(one.verdict == word for one in rows)} {words[word]}" for word in (CONFIRMED, REFUTED, OPEN))
    return f"docs/unconfirmed.md: {', '.join(counts)}."


def _end(trial: Canary) -> Iterator[Part]:
    """Yield what is left to do, where the report is, and last the count of rows."""
    rows = verdicts(trial.run.answers())
    name = trial.environment.name
    backstop = Backstop(aws=trial.aws, environment=name)
    if running := backstop.running():
        at = backstop.moment()
        text = f"{', '.join(running)} runs until {at}; to remove everything now, add --stages {LAST_STAGE}"
        yield Paragraph(text=text)
    yield f"report: {trial.run.directory / 'report.md'}"
    if trial.is_rehearsal:
        yield "This was a rehearsal: an emulator confirms nothing about AWS."
    yield _counts(trial, rows)


def _raise(trial: Canary, answers: list[StageAnswer]) -> None:
    """Raise what the exit code says: a stage that failed, or else a row that was refuted."""
    failed = [answer for answer in answers if answer.failure]
    if failed:
        raise OperationFailed.of(
            where=f"canary of {trial.environment.name}",
            what=f"stage {', '.join(str(answer.stage) for answer in failed)} failed",
            why="; ".join(answer.failure.splitlines()[0] for answer in failed),
            fix="read docs/day-one.md, and run the same command again: it repeats only the stages that failed; to"
            f" remove everything, add --stages {LAST_STAGE}",
        )
    refuted = [one for one in verdicts(trial.run.answers()) if one.verdict == REFUTED]
    if refuted:
        raise Drifted(
            f"account {trial.aws.account}",
            [f"{one.statement.what}: {one.observation}" for one in refuted],
            why="differs from docs/unconfirmed.md",
            fix=f"read {trial.run.directory / 'report.md'}, and please send it to us",
        )


def _report(trial: Canary) -> str:
    """Return the report: the stages, and each row with its verdict."""
    answers = trial.run.answers()
    judged = verdicts(answers)
    words = REHEARSED if trial.is_rehearsal else {word: word for word in REHEARSED}
    rows = ((one.statement.what, one.statement.harm, words[one.verdict], literal(one.observation)) for one in judged)
    stages = (
        (
            f"{answer.stage} {STAGES[answer.stage].title}",
            f"{answer.seconds / 60:.0f} min",
            literal("; ".join(_findings(answer))),
        )
        for answer in answers
    )
    about = "A rehearsal on an emulated AWS, which confirms nothing about AWS. " if trial.is_rehearsal else ""
    return (
        section(
            f"# Canary {trial.environment.name} in {trial.environment.region}",
            paragraph(f"{about}{_counts(trial, judged)} Written by `warmbase canary`."),
            table(("stage", "time", "what it found"), stages),
            "## Rows of docs/unconfirmed.md",
            table(("statement", "if it is wrong", "verdict", "what was seen, or how to check it"), rows),
        )
        + "\n"
    )


def _findings(answer: StageAnswer) -> list[str]:
    return [f"FAILED: {answer.failure.splitlines()[0]}"] if answer.failure else [*answer.lines]
