"""warmbase demo: the whole deployment on this machine."""

from __future__ import annotations

import click

from cli.plan_page import print_plan
from cli.progress import TerminalProgress
from cli.terminal import echo
from lab.demo import Demo, Hosting, run_demo
from local_aws.server import LocalAws
from sizing.plan import Plan

# The variables with which an AWS client reaches the local AWS. botocore reads the second name of the region.
CLIENT_VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)


class TerminalDemoProgress(TerminalProgress):
    """Reports progress on stderr, and prints the plan on stdout."""

    def show(self, plan: Plan) -> None:
        """Print the plan on stdout."""
        print_plan(plan)


@click.command()
@click.argument("environment", metavar="[ENV]", default="prod")
@click.option("--endpoint", metavar="URL", help="Use a local AWS that is already running, such as one left by --keep.")
@click.option(
    "--keep", is_flag=True, help="Leave the local AWS running, and print the variables with which clients reach it."
)
def demo(environment: str, endpoint: str | None, *, keep: bool) -> None:
    """Deploy to an emulated AWS on this machine, and remove it.

    An emulator stands for AWS: you need no account, no node starts and no HBase runs. The demo runs the real CDK
    command line on the same app that `cdk deploy` sends to a real account.

    \b
    Example:
      warmbase demo
      warmbase demo dev --keep
    """
    with run_demo(environment, Hosting(endpoint=endpoint, keep=keep), TerminalDemoProgress()) as result:
        echo()
        _print_comparisons(result)
        if result.background_aws:
            _print_resume_hint(result.background_aws)
        else:
            echo(f"Removed, except the retained buckets: {', '.join(result.retained_buckets)}")


def _print_comparisons(result: Demo) -> None:
    echo(f"Cluster {result.cluster_id}, as the services described it:")
    for comparison in result.comparisons:
        echo(f"  {comparison.subject:<24} {comparison.facts:>3} as rendered, {len(comparison.differences)} different")


def _print_resume_hint(local: LocalAws) -> None:
    variables = local.environment
    echo("\nThe local AWS is still running. To use it with any AWS client:")
    for name in CLIENT_VARIABLES:
        echo(f"  export {name}={variables[name]}")
    if local.process_id:
        echo(f"To end it: kill {local.process_id}")
