"""`warmbase new` writes an environment file from five answers, or from another cluster's configuration, and plans it.

Each question has a hint about how to find the number on a running cluster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec import Struct, field

from warmbase.cli.page import Page, Paragraph, summary_page
from warmbase.cli.signals import interruptible
from warmbase.cli.size.plan_summary import plan_summary
from warmbase.cli.terminal import echo
from warmbase.environments.draft import MARK, MEASUREMENTS, DraftFile, draft_file, refusals, yaml_text
from warmbase.environments.foreign_cluster import ForeignCluster
from warmbase.environments.planning import advised_plan_of, infeasible
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.document import YamlPath, path_text
from warmbase.environments.reader.read import new_path
from warmbase.facts.prices import priced_regions
from warmbase.ground.errors import InvalidInput, Problem, fix_line

WHERE: Final = "answer"
MILD: Final = "mild"
SKEWS: Final[Mapping[str, str]] = {"even": "uniform", MILD: "", "strong": "{zipf: 0.99}"}
"""Words for the skew of the reads; a mild one is what a draft assumes."""


class Question(Struct, frozen=True, kw_only=True):
    """A question, and the answer that Enter gives. `words` are answers that stand for other ones."""

    text: str
    hint: str
    words: Mapping[str, str] = field(default_factory=dict)
    default: Callable[[], str | None] = lambda: None


def _measured(path: YamlPath, text: str) -> tuple[YamlPath, Question]:
    return path, Question(text=text, hint=f"On a running cluster: {MEASUREMENTS[path_text(path)]}")


QUESTIONS: Final[Mapping[YamlPath, Question]] = dict(
    (
        _measured(("workload", "stored"), "How much data is stored, such as 3 TiB?"),
        _measured(("workload", "reads", "per_second"), "How many reads per second, on average?"),
        _measured(("workload", "row"), "How many bytes of a row does a read touch, such as 2 KiB?"),
        (
            ("workload", "popularity"),
            Question(
                text=f"How are the reads spread over rows: {', '.join(SKEWS)}?",
                hint="even: every row is read about equally often. mild: popular rows are read more, as on the web."
                " strong: a few rows get most of the reads. If you do not know, keep mild.",
                words=SKEWS,
                default=lambda: MILD,
            ),
        ),
        (
            ("region",),
            Question(
                text="Which AWS Region?",
                hint=f"warmbase knows the prices of {', '.join(priced_regions())}.",
                default=lambda: os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            ),
        ),
    )
)
"""The five questions, by the path of the key whose value they ask for."""


def ask(path: YamlPath, question: Question, values: Sequence[Assignment]) -> Assignment | None:
    """Return the answer of the person at the terminal; None where they leave the value to an assumption.

    Asks again after an invalid answer. Raises Abort at the end of the input.
    """
    Page().show(["", Paragraph(text=question.hint)])
    while True:
        with interruptible():
            text = click.prompt(question.text, default=question.default(), prompt_suffix=" ").strip()
        text = question.words.get(text, text)
        if not text:
            return None
        answer, problems = _checked(path, text, values)
        if answer is not None and not problems:
            return answer
        if question.words:
            Page().show([Paragraph(text=fix_line(f"answer {', '.join(question.words)}"), indent=2)])
            continue
        for problem in problems:
            Page().show(Paragraph(text=text, indent=2) for text in (problem.why, fix_line(problem.fix)))


def _checked(path: YamlPath, text: str, values: Sequence[Assignment]) -> tuple[Assignment | None, Sequence[Problem]]:
    """Return the answer as a value, with what is wrong with it."""
    try:
        answer = Assignment.at(path, text.replace(",", "") if text[:1].isdigit() else text, WHERE)
    except InvalidInput as error:
        return None, error.problems
    return answer, refusals((*values, answer), WHERE)


PATHS: Final[Mapping[str, YamlPath]] = {
    "stored": ("workload", "stored"),
    "reads": ("workload", "reads", "per_second"),
    "row": ("workload", "row"),
    "region": ("region",),
    "popularity": ("workload", "popularity"),
    "release": ("release",),
    "mode": ("storage", "mode"),
    "zone": ("network", "availability_zone"),
    "peak": ("workload", "reads", "peak_per_second"),
    "writes": ("workload", "writes", "bytes_per_second"),
    "cell": ("workload", "cell"),
    "block_size": ("workload", "block_size"),
    "regions": ("workload", "regions"),
    "hit_ratio": ("targets", "hit_ratio"),
    "p99": ("targets", "p99"),
    "lost_nodes": ("targets", "lost_nodes"),
    "budget": ("targets", "budget_usd_per_month"),
    "primaries": ("clusters", "blue", "primaries"),
}
"""Each option that states a value, with the path of its key."""
OVERRIDES: Final = ("overrides",)
REQUIRED: Final = ("stored", "reads", "row", "region")


@click.command()
@click.argument("name")
@click.option("--stored", metavar="SIZE", help="The size of the stored data, such as 3TiB.")
@click.option("--reads", metavar="N", help="The mean number of reads per second.")
@click.option("--row", metavar="SIZE", help="The mean number of bytes of a row that a read touches, such as 2KiB.")
@click.option("--region", metavar="REGION", help="The AWS Region, such as eu-west-1.")
@click.option("--popularity", metavar="YAML", help="The skew of the reads: uniform, or a law such as '{zipf: 0.99}'.")
@click.option("--release", metavar="LABEL", help="The EMR release.  [default: the newest known]")
@click.option("--mode", metavar="MODE", help="s3-cached, s3-plain or hdfs.  [default: s3-cached]")
@click.option("--zone", metavar="ZONE", help="The Availability Zone.  [default: the Region's first]")
@click.option("--peak", metavar="N", help="The reads per second in the busiest hour.")
@click.option("--writes", metavar="SIZE", help="The bytes of values written per second, such as 5MiB.")
@click.option("--cell", metavar="SIZE", help="The mean size of a cell's value.  [default: the row]")
@click.option("--block-size", metavar="SIZE", help="The BLOCKSIZE of the tables.  [default: 64 KiB]")
@click.option("--regions", metavar="N", help="The number of regions.  [default: by HBase's split limit]")
@click.option("--hit-ratio", metavar="SHARE", help="The target for the hit ratio.  [default: 0.95]")
@click.option("--p99", metavar="TIME", help="The target for the 99th percentile of latency, such as 50ms.")
@click.option("--lost-nodes", metavar="N", help="The number of core nodes that may fail.  [default: 1]")
@click.option("--budget", metavar="USD", help="The most that the cluster may cost in a month.")
@click.option("--primaries", metavar="N", help="The number of primary nodes: 1 or 3.  [default: 1]")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    help="The configuration of a cluster, in any form that lint reads. Release, nodes and settings come from it.",
)
@click.option("--yes", is_flag=True, help="Ask nothing, even on a terminal.")
def new(name: str, *, file: Path | None, yes: bool, **values: str | None) -> None:
    """Write an environment file from five answers.

    With --from, values come from the configuration of another cluster; options take precedence.

    Without enough options, warmbase asks on a terminal: how much data, how many reads, how large a row, how skewed the
    reads are, and which Region. The new file contains every default, and marks each value that you did not state.
    warmbase never overwrites an existing file. docs/environment.md explains the keys and how to find their values on a
    running cluster.

    \b
    Example:
      warmbase new events
      warmbase new events --stored 3TiB --reads 2000 --row 2KiB --region eu-west-1 --yes
      warmbase new events --from create-cluster.sh

    Exit codes: 3 no cluster meets the targets of the new file.
    """
    foreign = _foreign_cluster(file) if file else None
    assignments = _foreign_values(foreign) if foreign else {}
    assignments |= {PATHS[option]: _assignment(option, text) for option, text in values.items() if text is not None}
    missing = [option for option in REQUIRED if PATHS[option] not in assignments]
    if missing:
        if yes or not sys.stdin.isatty():
            raise _without_values(name, missing)
        try:
            answers: dict[YamlPath, Assignment] = {}
            for path, question in QUESTIONS.items():
                answer = (
                    None if path in assignments else ask(path, question, (*assignments.values(), *answers.values()))
                )
                if answer is not None:
                    answers[path] = answer
            assignments |= answers
        except click.Abort:
            raise _without_answers(name) from None
    drafted = _foreign_draft(name, foreign, assignments) if foreign else _draft(name, assignments, {})
    drafted.write()
    environment = drafted.environment
    echo(f"Wrote {drafted.source}. {drafted.assumed} of its values are assumptions: search for `{MARK}`.\n")
    sized = advised_plan_of(environment, environment.active)
    page, explorer = summary_page(), (f"warmbase explore {name}", "change the values in a browser")
    page.show(plan_summary(name, environment, sized, page, [explorer]))
    if not sized.meets_targets:
        raise infeasible(environment.source, sized)


def _assignment(option: str, text: str) -> Assignment:
    return Assignment.at(PATHS[option], text, f"--{option.replace('_', '-')}")


def _foreign_cluster(file: Path) -> ForeignCluster:
    from warmbase.configurations.foreign_settings import foreign_settings, secret_names  # noqa: PLC0415 - only a file needs the catalogue
    from warmbase.ground.secret import is_secret  # noqa: PLC0415
    from warmbase.linter.reader import read_subject  # noqa: PLC0415

    spec = read_subject(file, None)
    overrides, secrets = foreign_settings(spec, is_secret), secret_names(spec, is_secret)
    return ForeignCluster(spec=spec, overrides=overrides, secrets=secrets)


def _draft(name: str, assignments: Mapping[YamlPath, Assignment], remarks: Mapping[str, str]) -> DraftFile:
    return draft_file(new_path(name), tuple(assignments.values()), remarks)


def _foreign_draft(name: str, foreign: ForeignCluster, assignments: Mapping[YamlPath, Assignment]) -> DraftFile:
    """Return the draft from another cluster's file, without overrides in which lint finds an error."""
    from warmbase.linter.lint import refused_settings  # noqa: PLC0415 - only a file needs lint

    while True:
        options = {path_text(path) for path, value in assignments.items() if not value.where.startswith("--from ")}
        remarks = {path: remark for path, remark in foreign.remarks.items() if path not in options}
        drafted = _draft(name, assignments, remarks)
        refused = (
            refused_settings(drafted.environment, drafted.environment.active) if foreign.overrides else frozenset()
        )
        checked = foreign.without(refused)
        if checked == foreign:
            return drafted
        # Without one override, lint may find an error in another one.
        foreign = checked
        others = {path: value for path, value in assignments.items() if path != OVERRIDES}
        assignments = others | {path: value for path, value in _foreign_values(foreign).items() if path == OVERRIDES}


def _foreign_values(cluster: ForeignCluster) -> dict[YamlPath, Assignment]:
    values = ((tuple(path.split(".")), value) for path, value in cluster.values.items())
    return {path: Assignment.at(path, yaml_text(value), f"--from {cluster.spec.source}") for path, value in values}


def _without_values(name: str, options: Sequence[str]) -> InvalidInput:
    return InvalidInput.of(
        where=f"warmbase new {name}",
        what=", ".join(f"--{option}" for option in options),
        why="warmbase assumes no value for it, and asks only on a terminal and without --yes",
        fix="add it, such as --stored 3TiB --reads 2000 --row 2KiB --region eu-west-1",
    )


def _without_answers(name: str) -> InvalidInput:
    return InvalidInput.of(
        where=f"warmbase new {name}",
        what="has an unanswered question",
        why="standard input has ended, so nobody can answer; nothing was written",
        fix="run it again, or answer with options: --stored 3TiB --reads 2000 --row 2KiB --region eu-west-1",
    )
