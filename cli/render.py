"""warmbase render: the classifications of a cluster."""

from __future__ import annotations

import json

import click

from cli.options import chosen_cluster, cluster_option, environment_argument
from configurations.hbase_site import hbase_site_xml
from configurations.launch import Launch, launch_of
from configurations.run_job_flow import run_job_flow
from configurations.table_ddl import table_ddl
from environments.reader import read_environment
from lint.deployable import refuse_errors
from lint.secret import redacted

__all__ = ["render"]


@click.command()
@environment_argument
@cluster_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["emr", "hbase-site", "run-job-flow", "table-ddl"]),
    default="emr",
    show_default=True,
    help="The EMR API's JSON, hbase-site.xml, the whole cluster as RunJobFlow takes it, an HBase shell script.",
)
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    default="core",
    show_default=True,
    help="Whose, of emr and hbase-site: the group's own settings laid over those of the whole cluster.",
)
def render(environment: str, cluster: str | None, form: str, group: str) -> None:
    """Print the EMR classifications of a cluster, or files made of them.

    `${AWS::AccountId}` stands for the account where the environment file names none; CloudFormation fills it in.
    Paths below /warmbase are mounted by the bootstrap action, which `cdk deploy` installs. Nothing is printed where
    lint finds an error.

    \b
    Example:
      warmbase render prod --group core > core.json
      warmbase render prod --format hbase-site
      warmbase render prod --format run-job-flow > before.json
      warmbase render prod --format table-ddl > tables.rb
    """
    read = read_environment(environment)
    launch = launch_of(read, chosen_cluster(read, cluster))
    refuse_errors(launch)
    for override in read.overrides:
        stated = f"{override.classification} {override.key}={redacted(override.key, override.value)}"
        click.echo(f"an override ({override.where}): {stated}", err=True)
    click.echo(_text(launch, form, group), nl=False)


def _text(launch: Launch, form: str, group: str) -> str:
    if form == "table-ddl":
        return table_ddl(launch)
    if form == "run-job-flow":
        return json.dumps(run_job_flow(launch), indent=2) + "\n"
    settings = launch.settings.effective(group)
    if form == "hbase-site":
        return hbase_site_xml(settings, launch.environment.overrides)
    return json.dumps([setting.document() for setting in settings], indent=2) + "\n"
