"""The pages on deploying and removing are compared with the templates and the CDK command line."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS
from tests.stacks.template import Templates
from warmbase.operations.deploy.cdk import cdk_command

PROJECT = Path(__file__).parents[2]
README, DEPLOY, OPERATIONS = (
    (PROJECT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/deploy.md", "docs/operations.md")
)
SERVICES = {"Logs": "CloudWatch Logs"}
WITH_ALL = {"deploy", "destroy"}


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one, as one line."""
    found = re.search(rf"^#+ {heading}\n(.*?)^#{{1,6}} ", page, flags=re.DOTALL | re.MULTILINE)
    assert found
    return " ".join(found[1].split())


def test_every_service_of_the_templates_is_in_the_list_of_permissions(templates: Callable[[str], Templates]) -> None:
    listed = re.search(r"naming a policy for (.*?)\.", section(DEPLOY, "Deploy"))
    assert listed
    used = {
        resource["Type"].split("::")[1]
        for template in templates("prod").values()
        for resource in template["Resources"].values()
    }
    for service in used:
        assert re.search(rf"\b{SERVICES.get(service, service)}\b", listed[1]), service


@pytest.mark.parametrize(
    "said",
    [
        "`warmbase-prod-root-…`",
        "`warmbase-prod-logs-…`",
        "the root's KMS key",
        "cannot be deployed again under its name",
        "`CDKToolkit`",
    ],
)
def test_what_stays_is_named_and_what_follows_from_it(said: str) -> None:
    assert said in section(OPERATIONS, "Remove everything")


@pytest.mark.parametrize("said", ["network access", "it installs 140 MB", "The AWS command line"])
def test_prerequisites_are_named_before_the_first_section(said: str) -> None:
    assert said in " ".join(README.partition("\n## ")[0].split())


def test_all_is_given_only_to_the_commands_of_cdk_that_have_it() -> None:
    commands = re.findall(r"npx cdk (\w+)([^`\n#]*)", README + DEPLOY)
    assert {"deploy", "diff"} <= {command for command, _ in commands}
    for command, rest in commands:
        assert ("--all" in rest) == (command in WITH_ALL), f"cdk {command}{rest}"


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["deploy", "destroy", "diff", "synth"])
def test_cdk_has_all_where_we_think_so(command: str) -> None:
    asked = [str(cdk_command()), command, "--help"]
    shown = subprocess.run(asked, cwd=PROJECT, capture_output=True, text=True, timeout=HANG_SECONDS, check=True).stdout
    assert (re.search(r"^\s+--all\b", shown, flags=re.MULTILINE) is not None) == (command in WITH_ALL)
