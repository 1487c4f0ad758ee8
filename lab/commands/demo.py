"""`warmbase demo` performs the whole deployment on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from lab.demo import Hosting, run_demo
from warmbase.cli.page import summary_page
from warmbase.cli.progress import TerminalProgress
from warmbase.cli.size.plan_summary import plan_summary
from warmbase.cli.terminal import echo
from warmbase.environments.environment import Environment
from warmbase.sizing.plan import Plan

# The variables with which an AWS client reaches the local AWS. botocore reads the second name of the region.
CLIENT_VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)
AFTER_REMOVAL: Final[Mapping[str, str]] = {
    "warmbase plan {environment} --set workload.reads.per_second=2000": "what more reads cost",
    "warmbase explain {environment} hbase.bucketcache.size": "why a setting has its value",
    "warmbase render {environment} --group core": "the settings for EMR",
    "warmbase demo {environment} --keep": "keep the local AWS, and operate the cluster",
}
"""Commands to try after a demo that removed everything, each with its purpose."""
WITH_LOCAL_AWS: Final[Mapping[str, str]] = {
    "warmbase status {environment}": "nodes, caches, drift, alarms and cost",
    "warmbase deploy {environment}": "record and protect the cluster",
    "warmbase teardown {environment} {cluster}": "shut it down; hbase and hdfs are stand-ins here",
    "warmbase destroy {environment}": "delete the stacks that hold no data",
}
"""Commands to try on a local AWS that stays, in this order, each with its purpose."""


class TerminalDemoProgress(TerminalProgress):
    """Reports progress on stderr, and prints the plan on stdout."""

    def show(self, environment: Environment, plan: Plan) -> None:
        """Print the summary of the plan on stdout."""
        page = summary_page()
        page.show(plan_summary(environment.name, environment, plan, page))


@click.command()
@click.argument("environment", metavar="[ENV]", default="prod")
@click.option("--endpoint", metavar="URL", help="Use a local AWS that is already running, such as one left by --keep.")
@click.option(
    "--keep", is_flag=True, help="Leave the local AWS running, and print the variables with which clients reach it."
)
def demo(environment: str, endpoint: str | None, *, keep: bool) -> None:
    """Deploy to an emulated AWS here, and remove it.

    An emulator stands for AWS: you need no account, no node starts and no HBase runs. The demo runs the real CDK
    command line on the same app that `cdk deploy` sends to a real account.

    \b
    Example:
      warmbase demo
      warmbase demo dev --keep
    """
    with run_demo(environment, Hosting(endpoint=endpoint, keep=keep), TerminalDemoProgress()) as result:
        echo()
        echo(f"Cluster {result.cluster_id}, as the services described it:")
        for item in result.comparisons:
            echo(f"  {item.subject:<24} {item.facts:>3} as rendered, {len(item.differences)} different")
        if local := result.background_aws:
            echo("\nThe local AWS is still running. To use it with any AWS client:")
            for name in CLIENT_VARIABLES:
                echo(f"  export {name}={local.environment[name]}")
            if local.process_id:
                echo(f"To end it: kill {local.process_id}")
            _print_suggestions(WITH_LOCAL_AWS, environment, result.cluster_name)
        else:
            echo(f"Removed, except the retained buckets: {', '.join(result.retained_buckets)}")
            _print_suggestions(AFTER_REMOVAL, environment, result.cluster_name)


def _print_suggestions(suggestions: Mapping[str, str], environment: str, cluster_name: str) -> None:
    commands = [command.format(environment=environment, cluster=cluster_name) for command in suggestions]
    width = max(map(len, commands))
    echo("\nTry next:")
    for command, purpose in zip(commands, suggestions.values(), strict=True):
        echo(f"  {command:<{width}}  {purpose}")
