"""`warmbase deploy` shows what a deployment would change, asks, and deploys."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from warmbase.cli.change_parts import CHANGES
from warmbase.cli.deploy.reconfigure import tuning_page
from warmbase.cli.operate.destroy import EndConsent, end_failed_launches
from warmbase.cli.options import confirm, dry_run_option, environment_argument, output_option, yes_option
from warmbase.cli.page import Page, Paragraph, Part
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.terminal import echo
from warmbase.engines.engine import engine_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import format_usd
from warmbase.operations.aws.clients import Aws, environment_aws
from warmbase.operations.aws.errors import translated, unread_reason
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.alarms import read_topics, topic_faults
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.deployment import (
    Proposal,
    StackChange,
    deployment,
    proposal,
    read_proposal,
    refuse_outdated,
    write_proposal,
)
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.json_text import json_text, plain

FILE: Final = click.Path(dir_okay=False, path_type=Path)
LISTED_NAMES: Final = 3
"""This many resource names are shown of each kind of change; `--output json` has all of them."""


@click.command()
@environment_argument
@dry_run_option
@yes_option
@click.option("--save", type=FILE, metavar="FILE", help="Write the proposal to a file for --apply; change nothing.")
@click.option("--apply", "saved", type=FILE, metavar="FILE", help="Deploy exactly the saved proposal, without asking.")
@output_option
def deploy(environment: str, output: str, save: Path | None, saved: Path | None, **switches: bool) -> None:
    """Deploy an environment: stacks, clusters, tuning.

    warmbase checks the account, shows what would change and what that costs, and asks before it deploys. It never
    executes a change set that would replace or delete a cluster, a bucket or a key. After it launches a cluster, it
    compares the cluster with what EMR reports, writes the launch record beside the environment file, and turns on
    termination protection. At its end, it lists the mail addresses that have not confirmed their subscription to the
    alarms. You can interrupt the command at any point and run it again; finished steps are skipped.

    If an earlier launch failed, warmbase first names what remains of it and its cost, and asks before it ends it.

    --apply refuses if anything has changed since --save: the stacks, their protection, the clusters, the alarms that
    are silent, the claim of the root, the launch records, or what warmbase would deploy.

    \b
    Example:
      warmbase deploy prod --dry-run
      warmbase deploy prod
      warmbase deploy prod --save prod.proposal.json
      warmbase deploy prod --apply prod.proposal.json

    Exit codes: 3 something prevents the deployment, or would be lost.
    """
    if saved and (save or switches["dry_run"]):
        raise click.UsageError("--apply deploys; use it without --save and --dry-run")
    reviewed = read_proposal(saved) if saved else None
    read = read_environment(environment)
    variables = dict(os.environ) | {"AWS_REGION": read.region, "AWS_DEFAULT_REGION": read.region}
    progress = TerminalProgress()
    review_only = bool(switches["dry_run"] or save)
    aws = environment_aws(read, variables)
    consent = EndConsent(dry_run=review_only or reviewed is not None, yes=switches["yes"], piped=output == "json")
    end_failed_launches(aws, read, "deploy", progress, consent)
    with tempfile.TemporaryDirectory(prefix="warmbase-deploy-") as directory:
        assembly = Assembly(name=environment, aws=aws, variables=variables, directory=Path(directory))
        proposed = proposal(assembly, progress, dry_run=review_only or reviewed is not None)
        echo(json_text(_document(proposed)) if output == "json" else Page().text(_page(proposed)))
        if save:
            write_proposal(save, proposed, plain(_document(proposed)))
            echo(f"the proposal is in {save}; to deploy it: warmbase deploy {environment} --apply {save}", err=True)
        if reviewed:
            reviewed.refuse_other(proposed)
        if review_only:
            return
        if not proposed.empty:
            if not switches["yes"] and not reviewed:
                confirm("Deploy this?")
            with environment_lock(assembly.aws, proposed.environment, "deploy"):
                refuse_outdated(assembly, proposed, progress)
                carry_out(deployment(assembly, proposed), progress)
            for cluster_name in (*proposed.launches, *proposed.analytics):
                where = Path(proposed.environment.source).with_suffix(".launch") / cluster_name
                echo(f"cluster {cluster_name} is running; its launch record is {where}: commit it")
        for line in _unheard(assembly.aws, proposed):
            echo(line, err=True)


def _unheard(aws: Aws, proposed: Proposal) -> Iterator[str]:
    """Yield why notifications of the clusters reach nobody; if that cannot be read, the deployment still succeeds."""
    environment = proposed.environment
    for cluster_name in environment.cluster_names:
        try:
            with translated("could not read the subscriptions of the alarms", "run warmbase status"):
                topics = read_topics(aws, environment.name, cluster_name, environment.alarm_email)
        except OperationFailed as failed:
            yield f"alarms of cluster {cluster_name}: {unread_reason(failed)}"
            continue
        yield from (f"alarms of cluster {cluster_name}: {fault}" for fault in topic_faults(topics))


def _document(proposed: Proposal) -> dict[str, object]:
    return {
        "environment": proposed.environment.name,
        "checks": proposed.checks,
        "stacks": proposed.stacks,
        "bucket": proposed.bucket,
        "tunings": {
            cluster_name: {
                "changes": tuning.changes,
                "small": tuning.small,
                "new_cluster": tuning.new,
                "cost": tuning.cost,
            }
            for cluster_name, tuning in proposed.tunings.items()
        },
        "silences": proposed.silences,
        "missing_protection": {name: protection.missing for name, protection in proposed.protections.items()},
        "usd_per_month": proposed.usd_per_month,
        "current_usd_per_month": proposed.current_usd_per_month,
    }


def _page(proposed: Proposal) -> Iterator[Part]:
    yield "Checked"
    yield from _entries(f"{check.name}: {check.detail}" for check in proposed.checks)
    yield "Stacks"
    yield from _entries(f"{stack.name}: {_result_lines(stack)}" for stack in proposed.stacks)
    bucket = f"your bucket {proposed.environment.root.bucket}, will be set"
    yield from _entries(f"{bucket}: {need}" for need in proposed.bucket)
    yield "Clusters"
    yield from _clusters(proposed)
    yield from _entries(_silences(proposed))
    # The clusters of an environment share two stacks, so each would name their protection.
    missing = dict.fromkeys(name for protection in proposed.protections.values() for name in protection.missing)
    yield from _entries(f"{name} is missing; the deployment restores it" for name in missing)
    yield "Cost per month at today's prices (estimate)"
    for cluster_name, usd in proposed.usd_per_month.items():
        before = proposed.current_usd_per_month.get(cluster_name, 0.0)
        yield from _entries([f"{cluster_name}: {format_usd(before)} -> {format_usd(usd)}"])
    if proposed.empty:
        yield "Nothing to deploy."


def _entries(texts: Iterable[str]) -> Iterator[Part]:
    return (Paragraph(text=text, indent=2, hanging=2) for text in texts)


def _clusters(proposed: Proposal) -> Iterator[Part]:
    plans = {**{name: launch.plan for name, launch in proposed.launches.items()}, **proposed.analytics}
    for cluster_name, plan in plans.items():
        if cluster_name in proposed.tunings:
            tuning = tuning_page(proposed.tunings[cluster_name], proposed.environment, plan)
            yield from (f"  {line}" for line in CHANGES.lines(tuning))
            continue
        nodes = f"{plan.core.count} x {plan.core.instance_type}, {plan.primary.count} x {plan.primary.instance_type}"
        kind, explained = "cluster", " (`warmbase plan` explains it)"
        if cluster_name in proposed.analytics:
            platform = reports_of(engine_of(proposed.environment, cluster_name)).platform(plan)
            kind, explained = f"{platform} cluster", ""
        yield from _entries([f"{cluster_name}: a new {kind}, {nodes}, {plan.release}{explained}"])


def _silences(proposed: Proposal) -> Iterator[str]:
    """Yield what keeps alarms from notifying, and whether the deployment ends it."""
    for cluster_name, silence in proposed.silences.items():
        for line in silence.lines:
            outcome = "will be ended" if silence.ours else "stays, because warmbase did not write the rule"
            yield f"{cluster_name}: {line}; {outcome}"


def _result_lines(stack: StackChange) -> str:
    if stack.status is None:
        return f"new, {len(stack.added)} resources"
    parts = [
        f"{len(names)} {action} ({', '.join(names[:LISTED_NAMES])}{', …' if len(names) > LISTED_NAMES else ''})"
        for action, names in (("added", stack.added), ("changed", stack.changed), ("removed", stack.removed))
        if names
    ]
    return ", ".join(parts) or "no change"
