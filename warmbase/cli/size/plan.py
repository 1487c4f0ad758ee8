"""`warmbase plan` shows what to buy, what it does, why, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypedDict, Unpack, get_args

import click
from msgspec import Struct

from warmbase.cli.options import GROWTH, chosen_name, cluster_option, environment_argument
from warmbase.cli.terminal import echo, echo_styled, page_columns
from warmbase.environments.environment import Environment
from warmbase.environments.planning import advised_plan_of, infeasible, plan_of
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import environment_of, middle_environment, read_ranges
from warmbase.environments.uncertainty.samples import Sampling
from warmbase.ground.units import SIZE_UNITS, TIME_UNITS
from warmbase.sizing.plan import Plan
from warmbase.sizing.ranges.growth import Target

Page = Literal["why", "cost", "everything"]
UNITS: Final = {*SIZE_UNITS, *TIME_UNITS, "%"}
PAGES: Final[tuple[Page, ...]] = get_args(Page)


class PlanOptions(TypedDict):
    """The arguments and options of the command beside the environment."""

    other: str | None
    assignments: tuple[str, ...]
    against: str | None
    cluster: str | None
    output: str
    advice: bool
    frontier: Target | None
    tornado: bool
    months: int | None
    growth: float | None
    samples: int
    seed: int
    missed_factor: float
    report: Path | None
    why: bool
    cost: bool
    everything: bool


@click.command()
@environment_argument
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Compare with the plan for another value of a key, which is not written to the file. May be repeated; VALUE"
    " is YAML. With OTHER or --against, the newer environment has the value.",
)
@click.option(
    "--against",
    metavar="launch|FILE|REV",
    help="Compare with the launched cluster (launch), with another file, or with this file at a git revision. A file"
    " wins over a revision of the same name.",
)
@cluster_option
@click.option(
    "--output",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="Print a table for people, JSON for programs, or Markdown for a pull request.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the plan as an .html page that needs no server and no network. Its sliders stop at computed plans.",
)
@click.option("--why", is_flag=True, help="Print every figure with its reason, and what limits the cluster.")
@click.option("--cost", is_flag=True, help="Print each line of the bill, and what would save money.")
@click.option(
    "--all", "everything", is_flag=True, help="Print all of it, with the clusters that were rejected and why."
)
@click.option(
    "--advice/--no-advice", default=True, help="Also look for block sizes and compression that would save money."
)
@click.option(
    "--frontier",
    type=click.Choice(get_args(Target)),
    help="Print what each step of this target costs.",
)
@click.option(
    "--tornado", is_flag=True, help="Print how far each input and each judgement moves the price and the latency."
)
@click.option(
    "--months",
    type=click.IntRange(1, 120),
    help="Print what you must buy over this many months as the workload grows.",
)
@click.option(
    "--growth",
    type=GROWTH,
    metavar="SHARE",
    help="The growth per month of all tables, or of a Trino cluster's workload.  [default: the growth that the file"
    " states, or 8%]",
)
@click.option(
    "--samples",
    type=click.IntRange(8, 4096),
    default=128,
    show_default=True,
    help="If inputs are ranges: how many samples (combinations of their values) to plan.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="If inputs are ranges: the seed of the samples.",
)
@click.option(
    "--missed-factor",
    type=click.FloatRange(1, 1000),
    default=3.0,
    show_default=True,
    help="If inputs are ranges: what a missed target costs, as a multiple of the price of the missing capacity.",
)
def plan(environment: str, **options: Unpack[PlanOptions]) -> None:
    """Show what to buy, what it does and what it costs.

    The plan is the cheapest cluster that meets the targets in the environment file. If the file states instance
    type, count and volumes of the core nodes, warmbase evaluates that cluster instead. The summary also says what
    decides the size of the cluster, and which values it assumes; `warmbase explain` explains its words.

    With OTHER, --set or --against, the answer is the difference between two plans: price, nodes, latency, and how a
    running cluster gets from one to the other. `warmbase diff` shows each setting that differs.

    An input may be a range, such as `stored: 3..12 TiB`, in the file or in --set. warmbase then plans many samples of
    the ranges, and proposes the cluster with the least mean regret: what it costs more than the best cluster for each
    sample. It also names the input that is worth measuring first.

    \b
    Example:
      warmbase plan prod
      warmbase plan prod --why
      warmbase plan prod --cost
      warmbase plan prod --output json
      warmbase plan prod --set workload.stored=14TiB --set targets.lost_nodes=0
      warmbase plan prod --against main --output markdown
      warmbase plan dev prod
      warmbase plan prod --set "workload.stored=3..12 TiB"
      warmbase plan prod --tornado
      warmbase plan prod --frontier hit_ratio
      warmbase plan prod --months 12 --growth 5%
      warmbase plan prod --report plan.html

    Exit codes: 3 no cluster meets the targets, or the pinned one does not; of two plans, the newer one counts.
    """
    if options["assignments"] and (other := options["other"]) in UNITS:
        raise click.UsageError(f"{other!r} is apart from its number. Put the option in quotes: --set 'a.b=1 TiB'.")
    pages = [page for page in PAGES if options[page]]
    if options["report"]:
        _write_report(environment, options, pages)
        return
    if options["frontier"] or options["months"] or options["tornado"]:
        _show_steps(environment, options, pages)
        return
    subject = _subject(environment, options)
    if subject.today.ranges:
        _show_decision(subject, options, pages)
        return
    if options["other"] or options["assignments"] or options["against"] or options["output"] == "markdown":
        if pages:
            raise click.UsageError("--why, --cost and --all print one plan. For two, use --output json.")
        _show_comparison(environment, options)
        return
    read = subject.environment
    if subject.cluster in read.analytics:
        _show_trino(environment, subject, options["output"], pages)
        return
    choice = read.clusters[subject.cluster]
    sized = (advised_plan_of if options["advice"] else plan_of)(read, choice)
    error = None if sized.meets_targets else infeasible(read.source, sized)
    if options["output"] == "json":
        from warmbase.cli.size.compare import plan_document  # noqa: PLC0415 - each output loads what it needs
        from warmbase.reports.json_text import json_text  # noqa: PLC0415 - as above

        echo(json_text(plan_document(read, choice, sized, error)))
    else:
        _show_plan(environment, read, sized, pages)
    if error:
        raise error


def _show_steps(environment: str, options: PlanOptions, pages: Sequence[Page]) -> None:
    """Print the steps of a target or of a growing workload, or how far each input moves the price."""
    target, months = options["frontier"], options["months"]
    pages_of_steps = sum(map(bool, (target, months, options["tornado"])))
    if options["other"] or options["against"] or pages or pages_of_steps > 1:
        raise click.UsageError(
            "--frontier, --months and --tornado each print their own page: leave out OTHER, --against, --why, --cost"
            " and --all."
        )
    subject = _subject(environment, options)
    if options["tornado"]:
        from warmbase.cli.size.plan_variation import show_tornado  # noqa: PLC0415 - each page loads what it needs

        show_tornado(subject.today, subject.cluster, options["output"])
    elif target:
        from warmbase.cli.size.plan_variation import show_frontier  # noqa: PLC0415 - as above

        show_frontier(subject.exact, subject.cluster, target, options["output"])
    elif months:
        from warmbase.cli.size.plan_variation import GrowthRequest, show_growth  # noqa: PLC0415 - as above
        from warmbase.environments.uncertainty.growth import Horizon  # noqa: PLC0415 - as above

        horizon = Horizon(months=months, sampling=_sampling(options))
        request = GrowthRequest(
            cluster=subject.cluster, horizon=horizon, rate=options["growth"], output=options["output"]
        )
        show_growth(subject.ranged, request)


def _write_report(environment: str, options: PlanOptions, pages: Sequence[Page]) -> None:
    is_other = any(options[name] for name in ("other", "against", "frontier", "tornado", "months"))
    if pages or is_other or options["output"] != "table" or not options["advice"]:
        raise click.UsageError("--report writes one plan: use it only with ENV, --set and --cluster.")
    from warmbase.cli.size.compare import ReportRequest, write_report  # noqa: PLC0415 - most plans are printed

    write_report(
        ReportRequest(
            environment=environment,
            assignments=tuple(Assignment.parse(text) for text in options["assignments"]),
            cluster=options["cluster"],
            sampling=_sampling(options),
            file=options["report"] or Path(),
        )
    )


def _sampling(options: PlanOptions) -> Sampling:
    from warmbase.environments.uncertainty.samples import Sampling  # noqa: PLC0415 - most plans need no ranges

    return Sampling(count=options["samples"], seed=options["seed"], missed_factor=options["missed_factor"])


class RangedCluster(Struct, frozen=True, kw_only=True):
    """The cluster to plan, and the ranges that its plan depends on; `environment` has the middle of each range."""

    ranged: RangedDocument
    environment: Environment
    cluster: str

    @property
    def today(self) -> RangedDocument:
        """Return the ranges that a plan for today depends on."""
        return self.ranged.today

    @property
    def exact(self) -> Environment:
        """Return the environment. Raises InvalidInput if the plan for today depends on ranges."""
        return environment_of(self.today.document)


def _subject(environment: str, options: PlanOptions) -> RangedCluster:
    """Return what to plan; if there are two environments, in the newer one."""
    assignments = [Assignment.parse(text) for text in options["assignments"]]
    ranged = read_ranges(options["other"] or environment, assignments)
    read = middle_environment(ranged)
    cluster = chosen_name(read, options["cluster"])
    return RangedCluster(ranged=ranged.of_cluster(read, cluster), environment=read, cluster=cluster)


def _show_decision(subject: RangedCluster, options: PlanOptions, pages: Sequence[Page]) -> None:
    if options["other"] or options["against"] or pages:
        raise click.UsageError(
            "A plan from ranges has its own page: leave out OTHER, --against, --why, --cost and --all."
        )
    from warmbase.cli.size.plan_variation import DecisionRequest, show_decision  # noqa: PLC0415 - most plans need no ranges

    request = DecisionRequest(cluster=subject.cluster, output=options["output"], sampling=_sampling(options))
    show_decision(subject.today, request)


def _show_comparison(environment: str, options: PlanOptions) -> None:
    from warmbase.cli.size.plan_comparison import ComparisonRequest, show_comparison  # noqa: PLC0415 - loads lint and changes

    show_comparison(
        ComparisonRequest(
            environment=environment,
            other=options["other"],
            assignments=options["assignments"],
            against=options["against"],
            cluster=options["cluster"],
            output=options["output"],
        )
    )


def _show_trino(name: str, subject: RangedCluster, output: str, pages: Sequence[Page]) -> None:
    """Print the plan of an analytics cluster. Raises Infeasible after printing, if the plan misses its targets."""
    environment, cluster = subject.environment, subject.environment.analytics[subject.cluster]
    from warmbase.engines.trino.pages import trino_page, trino_summary  # noqa: PLC0415 - most plans are of HBase
    from warmbase.engines.trino.planning import trino_infeasible, trino_plan_of  # noqa: PLC0415 - as above

    plan = trino_plan_of(environment, cluster)
    error = None if plan.feasible else trino_infeasible(environment.source, plan)
    if output == "json":
        from warmbase.cli.terminal import answer_document  # noqa: PLC0415 - each output loads what it needs
        from warmbase.reports.json_text import json_text, plain  # noqa: PLC0415 - as above

        echo(json_text(answer_document(plain(plan), error)))
    elif pages:
        echo_styled(trino_page(plan, pages, page_columns()))
    else:
        echo_styled(trino_summary(name, environment, plan, page_columns()))
    if error:
        raise error


def _show_plan(name: str, environment: Environment, plan: Plan, pages: Sequence[Page] = ()) -> None:
    """Print these pages of a plan, or its summary where there are none."""
    if not pages:
        from warmbase.cli.size.plan_summary import plan_summary  # noqa: PLC0415 - each output loads what it needs

        echo_styled(plan_summary(name, environment, plan, page_columns()))
        return
    from warmbase.cli.size.plan_page import print_plan  # noqa: PLC0415 - rich is for people

    print_plan(plan, environment.overrides, pages)
