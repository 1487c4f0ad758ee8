"""`warmbase destroy` deletes the stacks of an environment that hold no data.

Before that it shows what remains of failed launches, asks, and ends it.
"""

from __future__ import annotations

import os

import click
from msgspec import Struct

from warmbase.cli.options import confirm, dry_run_option, environment_argument, yes_option
from warmbase.cli.page import PROPOSAL, Page
from warmbase.cli.progress import TerminalProgress
from warmbase.environments.environment import Environment
from warmbase.environments.names import storage_stack
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import Aws, environment_aws
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import environment_basis, refuse_moved
from warmbase.operations.cluster.failed_launch import end_failed_launch, find_failed_launches
from warmbase.operations.deploy.teardown import destruction


class EndConsent(Struct, frozen=True, kw_only=True):
    """The options of the command: whether only to show, whether not to ask, and whether stdout is for a program."""

    dry_run: bool
    yes: bool
    piped: bool = False


def end_failed_launches(
    aws: Aws, environment: Environment, command: str, progress: TerminalProgress, consent: EndConsent
) -> bool:
    """End what remains of failed launches, after a question; return whether there was any."""
    failed = find_failed_launches(aws, environment)
    for launch in failed:
        steps = (("proposed", step.title) for step in end_failed_launch(aws, environment, launch))
        rows = [("current", launch.text), *(("why", why) for why in launch.why), *steps]
        Page(indent=0).show(rows, err=consent.piped)
    if not failed or consent.dry_run:
        return bool(failed)
    if not consent.yes:
        confirm(f"End what remains of the failed launch of {', '.join(launch.cluster_name for launch in failed)}?")
    with environment_lock(aws, environment, command):
        for launch in failed:
            carry_out(end_failed_launch(aws, environment, launch), progress)
    return True


@click.command()
@environment_argument
@dry_run_option
@yes_option
def destroy(environment: str, *, dry_run: bool, yes: bool) -> None:
    """Delete the stacks that hold no data.

    It refuses while a cluster of the environment runs. The storage stack is kept, with the root bucket, the keys and
    the logs. If a launch failed, warmbase first names what remains of it and its cost, and asks before it ends it.

    \b
    Example:
      warmbase teardown prod blue
      warmbase destroy prod

    Exit codes: 3 a cluster is still running.
    """
    read = read_environment(environment)
    aws, progress = environment_aws(read, os.environ), TerminalProgress()
    if end_failed_launches(aws, read, "destroy", progress, EndConsent(dry_run=dry_run, yes=yes)) and dry_run:
        return
    basis = environment_basis(aws, read)
    steps = list(destruction(aws, read))
    proposed = (("" if number else "proposed", step.title) for number, step in enumerate(steps))
    PROPOSAL.show([*proposed, ("kept", f"{storage_stack(read.name)}: root, keys and logs")])
    if dry_run:
        return
    if not yes:
        confirm(f"Delete these stacks of {read.name}?")
    with environment_lock(aws, read, "destroy"):
        refuse_moved(basis, environment_basis(aws, read))
        # Check again: somebody may have launched a cluster that the file, and so the basis, does not list.
        carry_out(list(destruction(aws, read)), progress)
