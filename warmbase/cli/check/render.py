"""`warmbase render` prints the classifications of a cluster, or files made from them."""

from __future__ import annotations

import json

import click

from warmbase import library
from warmbase.cli.options import chosen_name, cluster_option, environment_argument
from warmbase.cli.terminal import echo
from warmbase.configurations.client_file import client_site_xml
from warmbase.configurations.launch import Launch, launch_of, planned_spec
from warmbase.configurations.node_files import hbase_site_xml
from warmbase.configurations.table_ddl import initial_load, table_ddl
from warmbase.emr.api import write_run_job_flow
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.environments.reader import read_environment
from warmbase.ground.secret import redacted
from warmbase.linter.lint import refuse_errors


@click.command()
@environment_argument
@cluster_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["emr", "hbase-site", "run-job-flow", "table-ddl", "initial-load", "client"]),
    default="emr",
    show_default=True,
    help="emr: JSON for the EMR API. hbase-site: an hbase-site.xml. run-job-flow: the whole cluster as JSON for"
    " RunJobFlow. table-ddl: an HBase shell script that configures the tables. initial-load: one that sets"
    " them for their initial load, and back. client: an hbase-site.xml for the"
    " applications that use the cluster.",
)
@click.option(
    "--group",
    type=click.Choice(["primary", "core"]),
    default="core",
    show_default=True,
    help="For emr and hbase-site: print the settings that are in force on nodes of this group.",
)
def render(environment: str, cluster: str | None, form: str, group: library.Group) -> None:
    """Print EMR classifications, DDL or client settings.

    If the environment file names no account, `${AWS::AccountId}` stands for it; CloudFormation fills it in. Paths below
    /warmbase are mounted by a bootstrap action that `warmbase deploy` and `cdk deploy` install. If lint finds an error,
    nothing is printed.

    \b
    Example:
      warmbase render prod --group core > core.json
      warmbase render prod --format hbase-site
      warmbase render prod --format run-job-flow > before.json
      warmbase render prod --format table-ddl > tables.rb
      warmbase render prod --format client
    """
    read = read_environment(environment)
    name = chosen_name(read, cluster)
    if form == "emr":
        text = json.dumps(library.render(read, cluster, group), indent=2) + "\n"
    elif name in read.clusters:
        launch = launch_of(read, read.clusters[name])
        refuse_errors(launch)
        text = _text(launch, form, group)
    elif form == "run-job-flow":
        text = _run_job_flow(library.planned_cluster(read, name))
    else:
        raise click.UsageError(f"--format {form} is for HBase clusters. Use emr or run-job-flow.")
    for override in read.overrides if name in read.clusters else ():
        setting = f"{override.classification} {override.key}={redacted(override.key, override.value)}"
        echo(f"an override ({override.where}): {setting}", err=True)
    echo(text, nl=False)


def _text(launch: Launch, form: str, group: str) -> str:
    if form == "table-ddl":
        return table_ddl(launch)
    if form == "initial-load":
        return initial_load(launch)
    if form == "client":
        return client_site_xml(launch)
    if form == "run-job-flow":
        return _run_job_flow(planned_spec(launch))
    return hbase_site_xml(launch.settings.effective(group), launch.environment.overrides)


def _run_job_flow(spec: ClusterSpec) -> str:
    return json.dumps(write_run_job_flow(spec), indent=2) + "\n"
