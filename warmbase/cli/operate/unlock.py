"""`warmbase unlock` removes the lock that a killed command left behind."""

from __future__ import annotations

import os

import click

from warmbase.cli.options import confirm, environment_argument, yes_option
from warmbase.cli.page import PROPOSAL
from warmbase.cli.terminal import echo
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.operations.aws.clients import environment_aws
from warmbase.operations.aws.lock import current_lock, holder_text, remove_lock


@click.command()
@environment_argument
@click.option("--token", metavar="TOKEN", help="The token of the lock to remove; with --yes it is required.")
@yes_option
def unlock(environment: str, token: str | None, *, yes: bool) -> None:
    """Remove the lock that a killed command left behind.

    Every command that changes an environment holds its lock, and removes it at the end, after an error and on Ctrl-C.
    A process that is killed, or a machine that goes down, leaves the lock behind. It never expires, because a command
    that is still running must never lose it unnoticed.

    If the command is still running, removing its lock stops it before its next change. A change that it has already
    started in AWS continues.

    \b
    Example:
      warmbase unlock prod
      warmbase unlock prod --yes --token 1f0c9a53d2e84b67
    """
    read = read_environment(environment)
    aws = environment_aws(read, os.environ)
    current = current_lock(aws, read.name)
    if current is None:
        echo(f"environment {read.name} is not locked")
        return
    risk = (
        "if that command is still running, a change that it started continues beside the next command: a deployment of"
        " a stack, a restart of HBase, or a termination"
    )
    holder = f"{holder_text(aws, read.name, current)}; token {current.token}"
    PROPOSAL.show([("current", holder), ("proposed", "remove the lock"), ("risk", risk)], err=True)
    if (yes and token is None) or token not in {None, current.token}:
        raise InvalidInput.of(
            where="--token",
            what="does not name the lock" if token else "is missing",
            why=f"the lock has the token {current.token}; naming it removes the lock that you saw, not a later one",
            fix=f"once you are sure that the command above has ended: --token {current.token}",
        )
    if not yes:
        confirm("Are you sure that this command has ended?")
    remove_lock(aws, read.name, current.token)
    echo(f"environment {read.name} is no longer locked")
