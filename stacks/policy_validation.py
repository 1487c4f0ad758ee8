"""A policy validation plug-in with which any CDK app lints the EMR clusters that it synthesises.

The module imports nothing of warmbase, so that you can copy it into an app: it runs `warmbase lint` on each cluster.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jsii
from aws_cdk import (
    IPolicyValidationContext,
    IPolicyValidationPlugin,
    PolicyValidationPluginReport,
    PolicyViolatingResource,
    PolicyViolation,
)

CLUSTER: Final = "AWS::EMR::Cluster"
LINTED: Final = (0, 3)
"""Exit codes with which lint has read the cluster; 3 means that it found errors."""
LEVELS: Final = ("error", "warning")

Finding = Mapping[str, Any]


@jsii.implements(IPolicyValidationPlugin)
class WarmbaseLint:
    """Lints each EMR cluster of an app; synthesis fails if one has an error, or, with `strict`, a warning.

    `command` starts warmbase where it is neither beside this Python nor on the PATH, such as
    ("/opt/warmbase/bin/warmbase",).
    """

    def __init__(self, command: Sequence[str] = (), *, strict: bool = False) -> None:
        self.command = tuple(command) or (_installed_command(),)
        self.failing = LEVELS if strict else LEVELS[:1]

    @property
    def name(self) -> str:
        """The name that the report of the CDK shows."""
        return "warmbase-lint"

    @property
    def version(self) -> None:
        """Return no version, which the CDK would use for analytics only."""
        return

    @property
    def rule_ids(self) -> None:
        """Return no list of rules, which the CDK would use for analytics only."""
        return

    def validate(self, context: IPolicyValidationContext) -> PolicyValidationPluginReport:
        """Return the errors and warnings of every cluster in the synthesised templates."""
        violations: list[PolicyViolation] = []
        failed = False
        for template in context.template_paths:
            for logical_id, resource in _clusters(Path(template)):
                for finding in self._findings(logical_id, resource):
                    failed = failed or finding["severity"] in self.failing
                    violations.append(_violation(finding, logical_id, template))
        return PolicyValidationPluginReport(success=not failed, violations=violations)

    def _findings(self, logical_id: str, resource: Mapping[str, Any]) -> list[Finding]:
        """Return the errors and warnings of one cluster; a cluster that lint cannot read is an error, too."""
        text = json.dumps({"Resources": {logical_id: resource}})
        command = [*self.command, "lint", "--file", "-", "--output", "json"]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if run.returncode not in LINTED:
            return [_unreadable(run.stderr.strip() or run.stdout.strip())]
        return [finding for finding in json.loads(run.stdout)["findings"] if finding["severity"] in LEVELS]


def _installed_command() -> str:
    beside = Path(sys.executable).with_name("warmbase")
    return str(beside) if beside.exists() else shutil.which("warmbase") or "warmbase"


def _clusters(template: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    resources = json.loads(template.read_text(encoding="utf-8")).get("Resources", {})
    return ((name, resource) for name, resource in resources.items() if resource.get("Type") == CLUSTER)


def _unreadable(answer: str) -> Finding:
    fix = "correct the properties of the cluster"
    return {"id": "WB000", "severity": "error", "classification": "", "property": "", "message": answer, "fix": fix}


def _violation(finding: Finding, logical_id: str, template: str) -> PolicyViolation:
    place = "/".join(filter(None, (finding["classification"], finding["property"])))
    reason = f"; because {finding['because']}" if finding.get("because") else ""
    return PolicyViolation(
        rule_name=finding["id"],
        description=f"{finding['message']}{reason}",
        fix=finding["fix"],
        severity=finding["severity"],
        violating_resources=[
            PolicyViolatingResource(
                resource_logical_id=logical_id,
                template_path=template,
                locations=[f"Properties/Configurations/{place}" if place else "Properties"],
            )
        ],
    )
