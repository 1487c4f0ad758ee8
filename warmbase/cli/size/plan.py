"""`warmbase plan` shows what to buy, what it does, why, and what it costs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_args

import click

from warmbase.cli.engine_facet import pages_of
from warmbase.cli.options import GROWTH, cluster_option, environment_argument
from warmbase.cli.page import summary_page
from warmbase.cli.size.plan_page import plan_page
from warmbase.cli.size.plan_request import PAGES, STEPS, PlanRequest, PlanSubject
from warmbase.cli.size.plan_summary import plan_summary
from warmbase.cli.terminal import answer_document, print_json
from warmbase.engines.engine import OTHER_TITLES, engine_of
from warmbase.environments.planning import advised_plan_of, infeasible, plan_of
from warmbase.ground.units import SIZE_UNITS, TIME_UNITS
from warmbase.reports.engine_facet import reports_of
from warmbase.sizing.ranges.growth import Target

UNITS: Final = {*SIZE_UNITS, *TIME_UNITS, "%"}


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
    help=f"The growth per month of all tables, or of a {OTHER_TITLES} cluster's workload.  [default: the growth that"
    " the file states, or 8%]",
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
def plan(environment: str, **options: Any) -> None:  # noqa: ANN401 - click converts each to the type of its field
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
    request = PlanRequest(environment=environment, **options)
    if request.assignments and request.other in UNITS:
        raise click.UsageError(
            f"{request.other!r} is apart from its number. Put the option in quotes: --set 'a.b=1 TiB'."
        )
    if request.report:
        request.refuse(
            "--report writes one plan: use it only with ENV, --set and --cluster.",
            *("other", "against", *STEPS, *PAGES, "output", "advice"),
        )
        _page("compare").write_report(request)
    elif steps := request.chosen(*STEPS):
        request.refuse(
            "--frontier, --months and --tornado each print their own page: leave out OTHER, --against, --why, --cost"
            " and --all.",
            *("other", "against", *PAGES, *steps[1:]),
        )
        _page("plan_variation").show_steps(request)
    elif (subject := request.subject()).ranged.today.ranges:
        request.refuse(
            "A plan from ranges has its own page: leave out OTHER, --against, --why, --cost and --all.",
            *("other", "against", *PAGES),
        )
        _page("plan_variation").show_decision(request, subject)
    elif request.chosen("other", "assignments", "against") or request.output == "markdown":
        request.refuse("--why, --cost and --all print one plan. For two, use --output json.", *PAGES)
        _page("plan_comparison").show_comparison(request)
    else:
        _show(request, subject)


def _page(module: str) -> Any:  # noqa: ANN401 - a module
    """Import a page that few plans need; most are of one HBase cluster, and a fast answer loads few modules."""
    return import_module(f"warmbase.cli.size.{module}")


def _show(request: PlanRequest, subject: PlanSubject) -> None:
    """Print the plan of one cluster. Raises Infeasible if it misses its targets, after printing it."""
    read, engine, page = subject.environment, engine_of(subject.environment, subject.cluster), summary_page()
    if request.output == "json":
        document, error = reports_of(engine).document(read, subject.cluster, advice=request.advice)
        print_json(answer_document(document, error))
    elif subject.cluster in read.analytics:
        parts, error = pages_of(engine).plan_parts(
            request.environment, read, subject.cluster, request.chosen(*PAGES), page
        )
        page.show(parts)
    else:
        plan = (advised_plan_of if request.advice else plan_of)(read, read.clusters[subject.cluster])
        error = None if plan.meets_targets else infeasible(read.source, plan)
        pages = request.chosen(*PAGES)
        page.show(
            plan_page(plan, read.overrides, pages) if pages else plan_summary(request.environment, read, plan, page)
        )
    if error:
        raise error
