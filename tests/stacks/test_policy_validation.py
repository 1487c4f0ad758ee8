"""The plug-in for policy validation, tried in a CDK app that is not ours, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytestmark = pytest.mark.thorough

PLUGIN = Path(__file__).parents[2] / "stacks" / "policy_validation.py"
APP = dedent("""\
    import sys
    import aws_cdk as cdk
    from aws_cdk import aws_emr as emr
    from warmbase_lint import WarmbaseLint

    def synthesised(outdir, share):
        app = cdk.App(outdir=outdir)
        cdk.Validations.of(app).add_plugins(WarmbaseLint())
        stack = cdk.Stack(app, "Foreign")
        group = emr.CfnCluster.InstanceGroupConfigProperty
        level = emr.CfnCluster.ConfigurationProperty
        emr.CfnCluster(
            stack, "Good" if share == "0.3" else "Bad", name="foreign",
            job_flow_role="EMR_EC2_DefaultRole", service_role="EMR_DefaultRole", release_label="emr-7.14.0",
            applications=[emr.CfnCluster.ApplicationProperty(name="HBase")],
            instances=emr.CfnCluster.JobFlowInstancesConfigProperty(
                master_instance_group=group(instance_count=1, instance_type="m8g.xlarge"),
                core_instance_group=group(instance_count=4, instance_type="r8g.2xlarge"),
            ),
            configurations=[
                level(classification="hbase", configuration_properties={"hbase.emr.storageMode": "s3"}),
                level(classification="hbase-site", configuration_properties={
                    "hbase.rootdir": "s3://bucket/hbase/", "hfile.block.cache.size": share,
                }),
            ],
        )
        try:
            app.synth()
        except RuntimeError as error:
            return str(error)
        return "passes"

    print("bad", synthesised("bad", "0.9"))
    print("good", synthesised("good", "0.3"))
""")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run the app, with a copy of the plug-in beside it, and return its folder and its output."""
    folder = tmp_path_factory.mktemp("foreign")
    shutil.copy(PLUGIN, folder / "warmbase_lint.py")
    (folder / "app.py").write_text(APP, encoding="utf-8")
    result = subprocess.run([sys.executable, "app.py"], cwd=folder, capture_output=True, text=True, check=False)
    return folder, result


def test_synthesis_fails_for_a_bad_cluster_alone(run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, result = run
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("bad ValidationFailed")
    assert result.stdout.endswith("good passes\n")


def test_the_report_names_rule_resource_and_fix(run: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = run
    violation = _violation(folder / "bad" / "validation-report.json", "WB209")
    assert "L1 (0.9) and memstore (0.4) exceed 0.8 of the heap" in violation["description"]
    assert (violation["severity"], violation["suggestedFix"]) == ("error", "lower one of the two")
    (construct,) = violation["violatingConstructs"]
    assert construct["constructPath"] == "Foreign/Bad"
    assert construct["cloudFormationResource"]["propertyPaths"] == [
        "Properties/Configurations/hbase-site/hfile.block.cache.size"
    ]


def _violation(report: Path, rule: str) -> dict[str, Any]:
    (plugin,) = json.loads(report.read_text(encoding="utf-8"))["pluginReports"]
    (violation,) = [violation for violation in plugin["violations"] if violation["ruleName"] == rule]
    assert isinstance(violation, dict)
    return violation
