"""`warmbase destroy` deletes the stacks of an environment that hold no data."""

from __future__ import annotations

import os

import click

from cli.failed_launch import EndConsent, end_failed_launches
from cli.options import confirm, dry_run_option, environment_argument, yes_option
from cli.progress import TerminalProgress
from cli.terminal import echo
from environments.names import storage_stack
from environments.reader import read_environment
from operations.basis import environment_basis, refuse_moved
from operations.identity import environment_aws
from operations.lock import environment_lock
from operations.progress import carry_out
from operations.teardown import destruction


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
    for number, step in enumerate(steps):
        echo(f"{'' if number else 'proposed':<10}{step.title}")
    echo(f"kept      {storage_stack(read.name)}: root, keys and logs")
    if dry_run:
        return
    if not yes:
        confirm(f"Delete these stacks of {read.name}?")
    with environment_lock(aws, read, "destroy"):
        refuse_moved(basis, environment_basis(aws, read))
        # Check again: somebody may have launched a cluster that the file, and so the basis, does not list.
        carry_out(list(destruction(aws, read)), progress)
