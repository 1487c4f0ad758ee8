"""warmbase render: the classifications of a cluster."""

from __future__ import annotations

import json

import click

from cli.options import chosen_cluster, cluster_option, environment_argument
from configurations.hbase_site import hbase_site_xml
from configurations.launch import launch_of
from environments.reader import read_environment

__all__ = ["render"]


@click.command()
@environment_argument
@cluster_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["emr", "hbase-site"]),
    default="emr",
    show_default=True,
    help="The EMR API's JSON, or hbase-site.xml.",
)
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    default="core",
    show_default=True,
    help="Whose: the group's own settings laid over those of the whole cluster.",
)
def render(environment: str, cluster: str | None, form: str, group: str) -> None:
    """Print the EMR classifications of a cluster, or its hbase-site.xml.

    `${AWS::AccountId}` stands for the account where the environment file names none; CloudFormation fills it in.

    \b
    Example:
      warmbase render prod --group core > core.json
      warmbase render prod --format hbase-site
    """
    read = read_environment(environment)
    settings = launch_of(read, chosen_cluster(read, cluster)).settings.effective(group)
    if form == "emr":
        click.echo(json.dumps([each.document() for each in settings], indent=2))
    else:
        click.echo(hbase_site_xml(settings), nl=False)
