"""The CDK app, the same whether the CDK command line, a test or the demo synthesises it."""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import App

from warmbase.environments.environment import ACCOUNT_PSEUDO_PARAMETER, EMR_TAG, Environment
from warmbase.ground.files import PACKAGE

__all__ = ["App", "environment_stack", "filled_in", "new_app", "tag"]


def new_app(outdir: str | None = None) -> App:
    """An app whose templates are the same however it is run: bare, by a test, by the CDK command line.

    The command line alone would pass cdk.json's feature flags and ask for path metadata. The app neither validates
    templates at synthesis (cfn-lint and cdk-nag are run on them) nor writes the rule that reads the bootstrap
    version: the account's bootstrap is checked by the command line.
    """
    context = json.loads((PACKAGE / "cdk.json").read_text(encoding="utf-8"))["context"]
    return App(
        outdir=outdir,
        context={"aws:cdk:enable-path-metadata": True, **context},
        analytics_reporting=False,
        builtin_cloud_formation_validation=False,
        default_stack_synthesizer=cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
    )


def environment_stack(environment: Environment) -> cdk.Environment:
    """Return where stacks go: the file's region, and its account or else that of the credentials."""
    return cdk.Environment(account=environment.account, region=environment.region)


def tag(stack: cdk.Stack, environment: Environment) -> None:
    """Tags every resource of a stack as the environment asks, and as EMR's managed policy demands.

    Stack tags would do on AWS, but only CloudFormation would ever see them: here they stand in the template.
    """
    for key, value in {EMR_TAG: "true", **environment.tags}.items():
        cdk.Tags.of(stack).add(key, value)


def filled_in(text: str, **names: str) -> str:
    """Text in which CloudFormation fills in the account and the given names; plain text stays as it is."""
    if ACCOUNT_PSEUDO_PARAMETER in text or any(f"${{{name}}}" in text for name in names):
        return cdk.Fn.sub(text, names or None)
    return text
