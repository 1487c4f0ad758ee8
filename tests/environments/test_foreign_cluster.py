"""A draft from another cluster's file: its nodes are evaluated, its own settings are overrides, the rest is ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import PROJECT, run
from tests.tiers import quick_where
from warmbase.environments.environment import Environment
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.linter.lint import refused_settings

WORKLOAD = {"stored": "3TiB", "reads": "2000", "row": "2KiB", "region": "us-east-1"}
SITE = """\
<configuration>
  <property><name>hbase.rootdir</name><value>s3://their-bucket/hbase</value></property>
  <property><name>hbase.bucketcache.size</name><value>98304</value></property>
  <property><name>phoenix.query.timeoutMs</name><value>600000</value></property>
</configuration>
"""
EBS = {
    "EbsBlockDeviceConfigs": [
        {"VolumeSpecification": {"VolumeType": "gp3", "SizeInGB": 800, "Iops": 4000, "Throughput": 250}},
        {"VolumeSpecification": {"VolumeType": "gp3", "SizeInGB": 100}},
    ]
}
SETTINGS = {
    "hbase": {"hbase.emr.storageMode": "s3"},
    "hbase-site": {
        "hbase.rootdir": "s3://their-bucket/hbase/",
        "hbase.coprocessor.region.classes": "com.example.Audit",
        "hbase.client.scanner.caching": "<yours>",
        "hbase.regionserver.handler.count": "30",
        "fs.s3a.secret.key": "not-to-be-copied",
        "com.example.session.token": "not-to-be-copied",
    },
    "hbase-env/export": {"HBASE_HEAPSIZE": "12g"},
}


def configurations() -> list[dict[str, Any]]:
    return [
        {"Classification": name, "Properties": values} if "/" not in name else
        {"Classification": name.partition("/")[0], "Configurations": [
            {"Classification": name.partition("/")[2], "Properties": values}]}
        for name, values in SETTINGS.items()
    ]  # fmt: skip


def instances(master: str = "MasterInstanceGroup", core: str = "CoreInstanceGroup") -> dict[str, Any]:
    return {
        master: {"InstanceType": "m8g.xlarge", "InstanceCount": 3},
        core: {"InstanceType": "r8g.2xlarge", "InstanceCount": 7, "EbsConfiguration": EBS},
        "Ec2SubnetId": "subnet-0123456789abcdef0",
        "Placement": {"AvailabilityZone": "us-east-1c"},
    }


def template(**changes: Any) -> str:
    """Return a CloudFormation template with one cluster."""
    cluster = {
        "Name": "theirs",
        "ReleaseLabel": "emr-7.10.0",
        "Instances": instances(),
        "Configurations": configurations(),
        "SecurityConfiguration": "their-encryption",
    } | changes
    return json.dumps({"Resources": {"Cluster": {"Type": "AWS::EMR::Cluster", "Properties": cluster}}})


def drafted(directory: Path, file: Path, **options: str) -> tuple[Environment, str]:
    """Return the environment of a draft from a file, and its text."""
    arguments = [part for option, value in (WORKLOAD | options).items() for part in (f"--{option}", value)]
    path = directory / "theirs.yaml"
    result = run("new", str(path), "--from", str(file), *arguments)
    assert result.returncode in {0, 3}, result.stderr
    return read_environment(str(path)), path.read_text(encoding="utf-8")


def written(directory: Path, text: str, name: str = "their.json") -> Path:
    file = directory / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_template_states_nodes_volumes_zone_and_release(tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, written(tmp_path, template()))
    core = environment.active.core
    assert (environment.release, environment.mode.name) == ("emr-7.10.0", "s3-cached")
    assert environment.network.availability_zone == "us-east-1c"
    assert (environment.active.primaries, environment.active.primary_type) == (3, "m8g.xlarge")
    assert (core.type, core.count, core.pinned) == ("r8g.2xlarge", 7, True)
    assert [(v.purpose, v.size_gib, v.iops, v.throughput_mib_s) for v in core.volumes or ()] == [
        ("cache", 800, 4000, 250),
        ("system", 100, 3000, 125),
    ]
    sized = plan_of(environment, environment.active)
    assert (sized.core.instance_type, sized.core.count) == ("r8g.2xlarge", 7)
    for remark in ("subnet-0123456789abcdef0", "their-encryption", "`count: auto` lets warmbase choose"):
        assert remark in " ".join(text.replace("#", "").split())


def test_only_settings_that_warmbase_leaves_alone_are_overrides(tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, written(tmp_path, template()))
    assert [(override.classification, override.key, override.value) for override in environment.overrides] == [
        ("hbase-site", "hbase.coprocessor.region.classes", "com.example.Audit")
    ]
    assert "not-to-be-copied" not in text


def test_the_root_of_another_cluster_is_a_remark(tmp_path: Path) -> None:
    """Two clusters that write to one root corrupt it, so a person has to name it."""
    environment, text = drafted(tmp_path, written(tmp_path, template()))
    assert not environment.root.existing
    assert "s3://their-bucket/hbase/" in text


def test_an_hbase_site_states_the_mode_and_settings(tmp_path: Path) -> None:
    environment, _ = drafted(tmp_path, written(tmp_path, SITE, "hbase-site.xml"))
    assert environment.mode.name == "s3-cached"
    assert [override.key for override in environment.overrides] == ["phoenix.query.timeoutMs"]
    assert environment.active.core.type is None


def test_the_published_recipe_is_evaluated(tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, PROJECT / "docs/published-recipe.sh")
    assert (environment.active.core.type, environment.active.core.count) == ("r8g.2xlarge", 6)
    assert environment.overrides == ()
    assert "docs/published-recipe.sh" in text
    assert "<your" not in text


def test_a_script_with_subnet_and_zone_is_read(tmp_path: Path) -> None:
    attributes = "KeyName=k,SubnetId=subnet-0123456789abcdef0,AvailabilityZone=us-east-1d"
    script = f"aws emr create-cluster --release-label emr-7.9.0 --ec2-attributes {attributes} --applications Name=HBase"
    environment, text = drafted(tmp_path, written(tmp_path, f"{script} --security-configuration theirs\n", "c.sh"))
    assert (environment.release, environment.network.availability_zone) == ("emr-7.9.0", "us-east-1d")
    assert "subnet-0123456789abcdef0" in text
    assert "security configuration theirs" in " ".join(text.replace("#", "").split())


def test_a_cluster_of_terraform_is_evaluated(tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, PROJECT / "tests/environments/their_cluster.tf")
    core = environment.active.core
    assert (environment.release, environment.mode.name, environment.active.primaries) == ("emr-7.10.0", "s3-cached", 3)
    assert (core.type, core.count, core.pinned) == ("r8g.2xlarge", 7, True)
    assert [override.key for override in environment.overrides] == ["phoenix.query.timeoutMs"]
    for remark in ("subnet-0123456789abcdef0", "security configuration their-encryption"):
        assert remark in " ".join(text.replace("#", "").split())


def test_our_own_rendered_cluster_comes_back(tmp_path: Path) -> None:
    file = written(tmp_path, run("render", "prod", "--format", "run-job-flow").stdout)
    options = {
        "stored": "7.185TiB", "reads": "900", "row": "830KiB", "cell": "425B", "regions": "240", "writes": "5MiB",
        "popularity": "{zipf: 0.99}",
    }  # fmt: skip
    environment, _ = drafted(tmp_path, file, **options)
    prod = read_environment("prod")
    sized, again = plan_of(prod, prod.active), plan_of(environment, environment.active)
    assert environment.overrides == ()
    assert (again.core, again.primary, again.cost.usd_per_month) == (
        sized.core,
        sized.primary,
        sized.cost.usd_per_month,
    )


@pytest.mark.parametrize(
    ("changes", "path", "remark"),
    [
        ({"ReleaseLabel": "emr-6.15.0"}, "release", "has emr-6.15.0, which ships an HBase before 2.6"),
        ({"Instances": {"CoreInstanceGroup": {"InstanceType": "x9.large"}}}, "core.type", "has no facts about"),
        ({"Instances": {"CoreInstanceGroup": {"InstanceCount": 1}}}, "core.count", "has 1; HDFS needs two"),
        ({"KerberosAttributes": {"Realm": "R"}}, "security.kerberos", "launches a cluster with Kerberos"),
        ({"Configurations": []}, "storage.mode", "has its HBase root on HDFS"),
    ],
)  # fmt: skip
def test_what_a_draft_cannot_take_over_is_a_remark(changes: Any, path: str, remark: str, tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, written(tmp_path, template(**changes)))
    assert remark in " ".join(text.replace("#", "").split()), path
    assert environment.name == "theirs"


def test_an_option_replaces_the_value_of_the_file(tmp_path: Path) -> None:
    environment, text = drafted(
        tmp_path, written(tmp_path, template()), release="emr-7.14.0", mode="hdfs", zone="us-east-1b"
    )
    assert (environment.release, environment.mode.name) == ("emr-7.14.0", "hdfs")
    assert environment.network.availability_zone == "us-east-1b"
    assert "emr-7.10.0" not in text


def test_a_file_that_lint_cannot_read_writes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "name: not-a-cluster\n")
    result = run("new", str(tmp_path / "theirs.yaml"), "--from", str(file))
    assert result.returncode == InvalidInput.exit_code
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


PUBLISHED = sorted(
    file
    for folder in ("tests/lint/published", "docs/published", "tests/lint/broken")
    for file in (PROJECT / folder).iterdir()
    if file.suffix in {".json", ".sh", ".xml", ".yaml", ".tf"}
)


@pytest.mark.parametrize("file", quick_where(lambda file: file.stem == "two-collectors", PUBLISHED), ids=str)
def test_a_draft_from_a_strangers_file_has_no_error(file: Path, tmp_path: Path) -> None:
    environment, _ = drafted(tmp_path, file)
    errors = refused_settings(environment, environment.active)
    assert {(override.classification, override.key) for override in environment.overrides} & errors == set()
    assert {override.classification for override in environment.overrides} & {
        name for name, key in errors if not key
    } == set()


def test_an_override_with_an_error_is_named_and_left_out(tmp_path: Path) -> None:
    environment, text = drafted(tmp_path, PROJECT / "tests/lint/broken/two-collectors.json")
    assert [override.key for override in environment.overrides] == ["hbase.regionserver.datatiering.enable"]
    assert "lint finds errors in them: hbase-site hbase.bucketcahce.size" in " ".join(text.replace("#", "").split())
