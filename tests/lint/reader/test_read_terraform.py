"""Terraform's clusters: each setting with its line, references as placeholders, and plans in JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import PROJECT
from tests.lint.reader.conftest import Problems, Read
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint

HEAD = """# a cluster
resource "aws_emr_cluster" "reads" {
  release_label = "emr-7.12.0"
  applications  = ["HBase", "ZooKeeper"]
"""
GROUPS = """
  master_instance_group { instance_type = "m8g.xlarge" }
  core_instance_group {
    instance_type  = var.core_type
    instance_count = 3
    ebs_config {
      size       = "500" # GiB
      type       = "gp3"
      throughput = 250
      volumes_per_instance = 2
    }
  }
"""
SITE = '[{"Classification": "hbase-site",\n "Properties": {"hbase.rpc.timeout":\n "60000"}}]'
FORMS = {
    "heredoc": (f"  configurations_json = <<EOF\n{SITE}\nEOF\n", 7),
    "indented": (f"  configurations_json = <<-EOF\n{SITE}\n  EOF\n", 7),
    "jsonencode": (
        """  configurations_json = jsonencode([{ Classification = "hbase-site"
    Properties = {
      "hbase.rpc.timeout" = "60000" } }])
""",
        7,
    ),
    "string": (f'  configurations_json = "{SITE.replace(chr(10), "").replace(chr(34), chr(92) + chr(34))}"\n', 5),
}


def values(subject: ClusterSpec) -> dict[str, str]:
    return {key: setting.value for (_, key), setting in subject.settings.items()}


@pytest.mark.parametrize("form", list(FORMS))
def test_classifications_have_their_lines(form: str, read: Read) -> None:
    text, line = FORMS[form]
    subject = read(f"{HEAD}{text}}}\n", "main.tf")
    setting = subject.settings["hbase-site", "hbase.rpc.timeout"]
    assert (setting.value, setting.line) == ("60000", line)
    assert subject.release_label == "emr-7.12.0"
    assert subject.applications == ("HBase", "ZooKeeper")


def test_groups_have_their_types_counts_and_volumes(read: Read) -> None:
    subject = read(f"{HEAD}{GROUPS}}}\n", "main.tf")
    primary, core = subject.groups
    assert (primary.instance_type, primary.count, primary.line) == ("m8g.xlarge", 1, 6)
    assert (core.role, core.instance_type, core.count) == ("core", None, 3)
    (volume,) = core.volumes
    assert (volume.type, volume.size_gib, volume.throughput_mib_s, volume.count) == ("gp3", 500, 250, 2)


def test_a_group_of_its_own_is_a_task_group(read: Read) -> None:
    group = 'resource "aws_emr_instance_group" "more" {\n  instance_type = "r8g.xlarge"\n  instance_count = 2\n}\n'
    subject = read(f"{HEAD}}}\n{group}", "main.tf")
    assert [(one.role, one.instance_type, one.count) for one in subject.groups] == [("task", "r8g.xlarge", 2)]


REFERENCES = [
    '"${var.mib}"',
    "var.mib",
    '"a-${local.unknown}-b"',
    "var.big ? 1 : 2",
    "aws_s3_bucket.data.id",
    'join(",", [1, 2])',
    "{for k in x : k => 1}",
]


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("key", ["hbase.bucketcache.size", "hbase.rootdir", "hbase.rs.cacheblocksonwrite"])
def test_a_reference_is_never_a_fault(reference: str, key: str, read: Read) -> None:
    settings = f'{{ Classification = "hbase-site", Properties = {{ "{key}" = {reference} }} }}'
    text = f"  configurations_json = jsonencode([{settings}])\n"
    report = lint(read(f"{HEAD}{text}}}\n", "main.tf"))
    blamed = [finding for finding in report.findings if finding.property == key and finding.line]
    assert {finding.severity for finding in blamed} <= {Severity.INFO}


@pytest.mark.parametrize("attribute", ["var.settings", 'templatefile("x.tpl", {})', '"s3://bucket/settings.json"'])
def test_classifications_from_elsewhere_are_silent(attribute: str, read: Read) -> None:
    assert read(f"{HEAD}  configurations = {attribute}\n}}\n", "main.tf").settings == {}


def test_references_in_a_heredoc_and_escaped_ones_differ(read: Read) -> None:
    text = SITE.replace("60000", "${var.time}").replace("hbase.rpc.timeout", "hbase.tmp.dir")
    escaped = SITE.replace("60000", "$${java.io.tmpdir}/x")
    first, second = (
        read(f"{HEAD}  configurations_json = <<EOF\n{one}\nEOF\n}}\n", "main.tf") for one in (text, escaped)
    )
    assert first.settings["hbase-site", "hbase.tmp.dir"].is_placeholder
    assert values(second) == {"hbase.rpc.timeout": "${java.io.tmpdir}/x"}


def test_local_values_and_files_are_read(read: Read) -> None:
    Path("site.json").write_text(SITE)
    text = 'locals {\n  site = jsondecode("x")\n  all = file("${path.module}/site.json")\n}\n'
    subject = read(f"{text}{HEAD}  configurations_json = local.all\n}}\n", "main.tf")
    assert values(subject) == {"hbase.rpc.timeout": "60000"}
    assert subject.settings["hbase-site", "hbase.rpc.timeout"].line == 3


PROBLEMS = [
    (f"{HEAD}  x = [\n", "the file ends before the closing bracket"),
    (f"{HEAD}  name = = 1\n}}\n", "column 10: '= 1' is not valid here"),
    (f"{HEAD}}}\n{HEAD.replace('reads', 'more')}}}\n", "2 resources of type aws_emr_cluster"),
    (f"{HEAD}  configurations_json = <<EOF\n[{{]\nEOF\n}}\n", "main.tf:6"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_a_faulty_file_is_refused_with_its_line(text: str, problem: str, problems: Problems) -> None:
    assert problem in problems(text, "main.tf")


CLUSTER = {
    "release_label": "emr-7.12.0",
    "applications": ["HBase"],
    "configurations": None,
    "configurations_json": SITE,
    "core_instance_group": [
        {"instance_type": "r8g.xlarge", "instance_count": 3, "ebs_config": [{"size": 500, "type": "gp3", "iops": None}]}
    ],
    "core_instance_fleet": [],
    "master_instance_group": [{"instance_type": "m8g.xlarge", "instance_count": 1, "ebs_config": []}],
    "ec2_attributes": [{"key_name": None, "subnet_id": "subnet-1"}],
    "kerberos_attributes": [],
}
RESOURCE = {"address": "aws_emr_cluster.reads", "type": "aws_emr_cluster", "values": CLUSTER}
PLANS: dict[str, dict[str, object]] = {
    "root": {"planned_values": {"root_module": {"resources": [RESOURCE]}}},
    "module": {"planned_values": {"root_module": {"child_modules": [{"resources": [RESOURCE]}]}}},
    "state": {"values": {"root_module": {"resources": [RESOURCE]}}},
    "changes": {"resource_changes": [{"type": "aws_emr_cluster", "change": {"actions": ["create"], "after": CLUSTER}}]},
}


@pytest.mark.parametrize("plan", list(PLANS))
def test_a_plan_in_json_is_read(plan: str, read: Read) -> None:
    subject = read(json.dumps({"format_version": "1.2", **PLANS[plan]}, indent=1), "plan.json")
    assert values(subject) == {"hbase.rpc.timeout": "60000"}
    assert [(group.role, group.count) for group in subject.groups] == [("primary", 1), ("core", 3)]
    assert subject.groups[1].volumes[0].size_gib == 500
    assert subject.key_pair is None
    assert subject.fleets is None
    assert not subject.has_kerberos


def test_only_a_file_of_terraform_loads_its_library() -> None:
    code = (
        "import sys, warmbase.cli.check.lint, warmbase.linter.reader; sys.exit(bool({'hcl2', 'lark'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=False).returncode == 0


def test_small_letters_and_an_auto_termination_policy_are_read(read: Read) -> None:
    site = SITE.replace("Classification", "classification").replace("Properties", "properties")
    policy = "  auto_termination_policy { idle_timeout = 7200 }\n"
    subject = read(f"{HEAD}{policy}  configurations_json = <<EOF\n{site}\nEOF\n}}\n", "main.tf")
    assert subject.auto_termination == 5
    assert values(subject) == {"hbase.rpc.timeout": "60000"}
