"""The record of a launch: written whole, read as written, and refused once anything in it has changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import (
    LaunchRecord,
    RecordedPlan,
    RecordedResource,
    identity_of,
    in_recorded_zones,
    launch_records,
    record_directory,
    write_record,
)
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.plan import CoreGroup, PrimaryGroup
from warmbase.sizing.requirements import Volume

PROJECT = Path(__file__).parents[2]
SCRIPT = b"#!/bin/sh\n"
SCRIPT_SHA256 = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    file = tmp_path / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    return read_environment(str(file))


@pytest.fixture
def record(environment: Environment) -> LaunchRecord:
    written = LaunchRecord(
        directory=record_directory(environment, "blue"),
        identity=identity_of(environment, "blue", "123456789012"),
        availability_zone="us-east-1b",
        cluster_id="j-1",
        launched_at="2026-11-22T08:00:00+00:00",
        resources={
            "stack": {"Cluster": RecordedResource(type="AWS::EMR::Cluster", properties={"Name": "warmbase-dev-blue"})}
        },
        bootstrap={"claim-root.sh": SCRIPT_SHA256},
    )
    write_record(written, {"claim-root.sh": SCRIPT})
    return written


def refusal(environment: Environment) -> str:
    with pytest.raises(InvalidInput) as caught:
        launch_records(environment)
    return str(caught.value)


def test_it_is_read_as_it_was_written(environment: Environment, record: LaunchRecord) -> None:
    assert launch_records(environment) == {"blue": record}
    assert record.file("claim-root.sh").read_bytes() == SCRIPT
    assert str(record.directory).endswith("dev.launch/blue")


def test_without_one_there_is_none(environment: Environment) -> None:
    assert launch_records(environment) == {}
    assert in_recorded_zones(environment, []) is environment


def test_one_that_is_there_is_replaced_whole(environment: Environment, record: LaunchRecord) -> None:
    after = replace(record, cluster_id="j-2", bootstrap={})
    write_record(after, {})
    assert launch_records(environment) == {"blue": after}
    assert sorted(file.name for file in record.directory.parent.iterdir()) == ["blue"]
    assert list((record.directory / "bootstrap").iterdir()) == []


def test_what_cannot_be_written_leaves_the_one_that_is_there(environment: Environment, record: LaunchRecord) -> None:
    with pytest.raises(OSError, match="no/such"):
        write_record(replace(record, cluster_id="j-2"), {"no/such": b""})
    assert launch_records(environment) == {"blue": record}
    assert sorted(file.name for file in record.directory.parent.iterdir()) == ["blue"]


def test_a_writer_that_was_killed_halfway_is_seen_and_what_it_left_is_taken_up(
    environment: Environment, record: LaunchRecord
) -> None:
    home = record.directory.parent
    record.directory.rename(home / ".old-blue")
    (home / ".fresh-1").mkdir()
    assert "it was being rewritten and is incomplete" in refusal(environment)
    with pytest.raises(OSError, match="no/such"):
        write_record(replace(record, cluster_id="j-2"), {"no/such": b""})
    assert launch_records(environment) == {"blue": record}
    assert sorted(file.name for file in home.iterdir()) == ["blue"]


def test_what_goes_wrong_between_its_steps_is_taken_back(
    environment: Environment, record: LaunchRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def once(self: Path, target: Path) -> Path:
        if self.name.startswith(".fresh-"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(KeyboardInterrupt):
        write_record(replace(record, cluster_id="j-2"), {})
    assert launch_records(environment) == {"blue": record}
    assert sorted(file.name for file in record.directory.parent.iterdir()) == ["blue"]


def test_a_record_without_its_document_is_refused(environment: Environment, record: LaunchRecord) -> None:
    (record.directory / "launch.json").unlink()
    assert "it cannot be read: FileNotFoundError" in refusal(environment)


def test_a_file_that_is_called_otherwise_by_now_has_its_records_still(
    environment: Environment, record: LaunchRecord
) -> None:
    moved = Path(environment.source).with_name("development.yaml")
    Path(environment.source).rename(moved)
    found = read_environment(str(moved))
    assert launch_records(found) == {"blue": record}
    assert record_directory(found, "blue") == record.directory


def test_the_cluster_stays_in_its_zone(environment: Environment, record: LaunchRecord) -> None:
    assert environment.network.availability_zone == "us-east-1a"
    assert in_recorded_zones(environment, [record]).network.availability_zone == "us-east-1b"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("warmbase-dev-blue", "warmbase-dev-green", "it was changed after warmbase wrote it"),
        ('"j-1"', '"j-2"', "it was changed after warmbase wrote it"),
        ('"cluster_id": "j-1",', "", "missing required field `cluster_id`"),
        ("{", "", "it cannot be read: JSONDecodeError"),
        ('"Name"', '"Name', "it cannot be read: JSONDecodeError"),
    ],
)
def test_an_edit_by_hand_is_refused(
    environment: Environment, record: LaunchRecord, old: str, new: str, why: str
) -> None:
    file = record.directory / "launch.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    said = refusal(environment)
    assert said.startswith(f"{file}  launch record\n")
    assert why in said
    assert "fix: restore it from version control (git checkout), or write it again: warmbase pin" in said


@pytest.mark.parametrize(
    "path",
    [
        ("identity",),
        ("resources", "stack", "Cluster"),
        ("plan", "core"),
        ("plan", "primary"),
        ("plan", "core", "volumes", 0),
    ],
)
def test_a_record_that_says_more_than_this_version_reads_is_refused(
    environment: Environment, record: LaunchRecord, path: tuple[str | int, ...]
) -> None:
    """A later version may have written it, and what this one does not read could tell two clusters apart."""
    volume = Volume(purpose="data", type="gp3", count=1, size_gib=64, iops=3_000, throughput_mib_s=125)
    plan = RecordedPlan(
        release="emr-7.13.0",
        cache_mib=None,
        primary=PrimaryGroup(instance_type="m8g.xlarge", count=1, volumes=(volume,)),
        core=CoreGroup(instance_type="r8g.xlarge", count=2, volumes=(volume,)),
    )
    write_record(replace(record, plan=plan), {"claim-root.sh": SCRIPT})
    assert launch_records(environment)["blue"].plan == plan
    file = record.directory / "launch.json"
    document = json.loads(file.read_text())
    del document["sha256"]
    section = document
    for key in path:
        section = section[key]
    section["of_a_later_version"] = "x"
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps({**document, "sha256": digest}))
    assert "unknown field `of_a_later_version`" in refusal(environment)


def test_a_document_of_something_else_is_refused(environment: Environment, record: LaunchRecord) -> None:
    for text in ("[]", "null", "1", json.dumps({"sha256": "0"})):
        (record.directory / "launch.json").write_text(text)
        assert "it cannot be read" in refusal(environment)


def test_a_bootstrap_file_that_changed_is_refused(environment: Environment, record: LaunchRecord) -> None:
    record.file("claim-root.sh").write_bytes(b"#!/bin/bash\n")
    assert f"{record.file('claim-root.sh')}  launch record\n  it differs from what was launched" in refusal(environment)
    record.file("claim-root.sh").unlink()
    assert "it is missing" in refusal(environment)


def test_another_root_is_refused_by_the_key_that_changes_it(environment: Environment, record: LaunchRecord) -> None:
    file = Path(environment.source)
    file.write_text(f"{file.read_text()}storage: {{root: s3://our-data/hbase/}}\n")
    said = refusal(read_environment(str(file)))
    assert "dev.yaml  storage.root\n" in said
    assert "cluster blue runs as j-1 with s3://warmbase-dev-root-123456789012-us-east-1/hbase/, not" in said
    assert record.cluster_id == "j-1"
