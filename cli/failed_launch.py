"""Shows what remains of failed launches, asks, and ends it."""

from __future__ import annotations

from textwrap import wrap

from msgspec import Struct

from cli.change_lines import WIDTH
from cli.options import confirm
from cli.progress import TerminalProgress
from cli.terminal import echo
from environments.environment import Environment
from operations.aws import Aws
from operations.failed_launch import end_failed_launch, find_failed_launches
from operations.lock import environment_lock
from operations.progress import carry_out


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
        steps = (f"proposed  {step.title}" for step in end_failed_launch(aws, environment, launch))
        for line in (f"current   {launch.text}", *(f"why       {why}" for why in launch.why), *steps):
            for part in wrap(line, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False):
                echo(part, err=consent.piped)
    if not failed or consent.dry_run:
        return bool(failed)
    if not consent.yes:
        confirm(f"End what remains of the failed launch of {', '.join(launch.cluster_name for launch in failed)}?")
    with environment_lock(aws, environment, command):
        for launch in failed:
            carry_out(end_failed_launch(aws, environment, launch), progress)
    return True
