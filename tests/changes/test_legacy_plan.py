"""A launch record from before 0.1.0 has no plan: it is derived, and everything that is made of the record stays."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.command import run
from warmbase import app
from warmbase.changes.change import changes
from warmbase.changes.planned_cluster import legacy_plan, recorded_plan, replanned
from warmbase.changes.recorded_launch import recorded_spec
from warmbase.configurations.launch import planned_spec
from warmbase.emr.cluster_spec import flattened, settings_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records
from warmbase.environments.reader import read_environment
from warmbase.facts.releases import releases
from warmbase.operations.deploy.pinning import upgrade

PROJECT = Path(__file__).parents[2]
OLD = Path(__file__).parent / "launch-record-0.1.tar.gz"
"""environments/dev.yaml of a version before 0.1.0, and the launch record that this version made of it."""


def unpack(directory: Path) -> None:
    """Unpack the file and the record; Python before 3.11.4 has no filters of archives."""
    with tarfile.open(OLD) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)  # noqa: S202 - with the filter above


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    unpack(tmp_path)
    return read_environment(str(tmp_path / "dev.yaml"))


@pytest.fixture
def record(environment: Environment) -> LaunchRecord:
    return launch_records(environment)["blue"]


def test_an_old_record_has_no_plan_and_keeps_its_bytes(record: LaunchRecord) -> None:
    assert record.plan is None
    assert "plan" not in record.document()


def test_the_derived_plan_has_the_figures_of_the_launch(record: LaunchRecord) -> None:
    plan = recorded_plan(record)
    assert (plan.release, plan.cache_mib) == ("emr-7.12.0", 108_544)
    assert (plan.primary.instance_type, plan.primary.count) == ("m8g.xlarge", 1)
    assert (plan.core.instance_type, plan.core.count) == ("m7g.xlarge", 2)
    assert {volume.purpose: volume.size_gib for volume in plan.core.volumes} == {"cache": 126, "system": 64}


def test_a_later_plan_keeps_the_nodes_of_an_old_record(environment: Environment, record: LaunchRecord) -> None:
    plan = replanned(environment, record).plan
    assert (plan.core, plan.primary) == (legacy_plan(record).core, legacy_plan(record).primary)
    assert plan.cache.size_mib == legacy_plan(record).cache_mib


def test_an_upgraded_record_gives_the_same_templates(
    environment: Environment, record: LaunchRecord, tmp_path: Path
) -> None:
    old = app.synthesise(environment.source, str(tmp_path / "old")).assembly
    upgraded = upgrade(record)
    assert launch_records(environment) == {"blue": upgraded}
    assert upgraded == replace(record, plan=legacy_plan(record))
    new = app.synthesise(environment.source, str(tmp_path / "new")).assembly
    templates = sorted(file.name for file in old.glob("*.template.json"))
    assert templates == sorted(file.name for file in new.glob("*.template.json"))
    assert len(templates) == 4
    for name in templates:
        assert (old / name).read_bytes() == (new / name).read_bytes()


def test_settings_of_later_versions_wait_for_a_reconfiguration(
    environment: Environment, record: LaunchRecord, tmp_path: Path
) -> None:
    key = "fs.s3a.endpoint.region"
    assembly = app.synthesise(environment.source, str(tmp_path / "out")).assembly
    [name] = [name for name in record.resources if name.endswith("-cluster")]
    assert key not in (assembly / f"{name}.template.json").read_text(encoding="utf-8")

    launch = replanned(environment, record)
    found = changes(recorded_spec(record), planned_spec(launch), ("primary", "core"), releases()[launch.plan.release])
    region = next(change for change in found if change.key == key)
    assert (region.before, region.after) == (None, "us-east-1")
    assert region.groups == ("primary", "core")
    assert region.restarts == "Hadoop, and HBase by hand"
    assert not {"hbase.rootdir", "hbase.emr.storageMode"} & {change.key for change in found}
    requests = settings_of(launch.settings.core)
    assert ("hbase-site", "hbase.rootdir") in requests


def test_only_the_legacy_reader_parses_bootstrap_arguments() -> None:
    sources = [file for room in ("warmbase", "configurations", "stacks") for file in (PROJECT / room).rglob("*.py")]
    named = {
        str(file.relative_to(PROJECT))
        for file in sources
        if "cache-mib" in (text := file.read_text(encoding="utf-8")) or "volume-gib" in text
    }
    assert named == {"warmbase/changes/planned_cluster.py", "configurations/bootstrap.py"}


def test_no_switch_is_proposed_to_a_cluster_that_was_launched_without_it(
    environment: Environment, record: LaunchRecord
) -> None:
    core = replanned(environment, record).settings.core
    assert "hbase.coprocessor.user.enabled" not in {key for _, key, _ in flattened(core)}
    difference = run("diff", environment.source, "--against", "launch")
    assert difference.returncode == 0, difference.stderr
    assert "differences" in difference.stdout
    assert "hbase.coprocessor.user.enabled" not in difference.stdout


def test_an_old_record_is_compared_with_today_s_plan(environment: Environment, record: LaunchRecord) -> None:
    comparison = run("plan", environment.source, "--against", "launch", "--output", "json")
    assert comparison.returncode == 0, comparison.stderr
    before = json.loads(comparison.stdout)["before"]
    assert (before["core_nodes"], before["core_type"], before["release"]) == (2, "m7g.xlarge", "emr-7.12.0")
    assert before["bucket_cache_mib"] == legacy_plan(record).cache_mib
