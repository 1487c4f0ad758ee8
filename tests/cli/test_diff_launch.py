"""`warmbase diff --against launch`: what today's plan would be tuning of a cluster that was launched."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from tests.stacks.recorded import launch_record_of
from warmbase import app
from warmbase.cli.change_parts import CHANGES
from warmbase.cli.check.diff import around_parts
from warmbase.configurations.bootstrap import lasting_arguments

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of environments/dev.yaml that has the record of its launch."""
    directory = tmp_path_factory.mktemp("launched")
    file = directory / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    launch_record_of(file, app.synthesise(str(file), str(directory / "cdk.out")).assembly)
    return file


def diff(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run("diff", str(file), "--against", "launch", *arguments)


def edited(environment: Path, directory: Path, *edits: tuple[str, str]) -> Path:
    file = directory / "dev.yaml"
    text = environment.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text)
    (directory / "dev.launch").symlink_to(environment.with_suffix(".launch"))
    return file


def test_a_cluster_does_not_differ_from_its_record(environment: Path) -> None:
    result = diff(environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert " ".join(result.stdout.split()).endswith("primary and core nodes: no difference")


def test_naming_the_account_is_no_difference(environment: Path, tmp_path: Path) -> None:
    file = edited(environment, tmp_path, ("region:", 'account: "123456789012"\nregion:'))
    assert " ".join(diff(file).stdout.split()).endswith("no difference")


def test_every_difference_has_its_impact(environment: Path, tmp_path: Path) -> None:
    file = edited(
        environment,
        tmp_path,
        ("200 GiB", "900 GiB"),
        ("7.14.0", "7.13.0"),
        ("us-east-1a}", "us-east-1b}"),
        ("release:", "os_release: 2023.9.20251117.1\nrelease:"),
        ("clusters:", "security: {local_disks: false, in_transit: {pem: s3://our-keys/hbase.zip}}\nclusters:"),
    )
    document: Any = json.loads(diff(file, "--output", "json").stdout)
    applied = {change["key"]: change["applied"] for change in document["changes"]}
    assert {key for key, how in applied.items() if how == "new cluster"} >= {
        "ReleaseLabel",
        "OSReleaseLabel",
        "AvailabilityZone",
        "EbsConfiguration",
        "encryption in transit",
        "encryption of local disks",
        "bootstrap action guard-regionserver",
        "bootstrap action mount-volumes",
    }
    assert "bootstrap action claim-root" not in applied
    assert applied["hbase.bucketcache.size"] == "rolling restart"
    assert document["cost"]["applied"] == "new cluster"
    page = diff(file).stdout
    assert max(map(len, page.splitlines())) <= 80
    assert "New cluster: cannot be changed on a running cluster" in page


def test_a_change_of_heap_and_handlers_needs_no_new_cluster(environment: Path, tmp_path: Path) -> None:
    """The action that tries the JVM's flags has others, and has run already."""
    file = edited(environment, tmp_path, ("per_second: 200", "per_second: 10"))
    document: Any = json.loads(diff(file, "--output", "json").stdout)
    applied = {change["key"]: change["applied"] for change in document["changes"]}
    assert set(applied.values()) == {"rolling restart"}
    assert {"HBASE_REGIONSERVER_OPTS", "hbase.regionserver.handler.count"} <= applied.keys()


@pytest.mark.parametrize(("planned", "lasts"), [(1000, False), (1060, False), (1061, True), (2000, True)])
def test_a_unit_that_stops_too_soon_needs_a_new_cluster(planned: int, *, lasts: bool) -> None:
    """HBase's own script ends a minute before systemd's limit."""
    arguments = ("--volume=1", "--cache-mib=5", f"--stop-seconds={planned}")
    kept = lasting_arguments(arguments, ("--volume=1", "--cache-mib=4", "--stop-seconds=1000"))
    assert kept == ("--volume=1", *((f"--stop-seconds={planned}",) if lasts else ()))


def test_without_a_record_the_message_says_how_to_get_one(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    result = diff(file)
    assert result.returncode == 2
    assert "dev.launch/blue  no launch record" in result.stderr
    assert "warmbase pin dev" in result.stderr


def test_the_page_names_what_a_deployment_does_not_undo() -> None:
    differences = {
        "bootstrap actions": ("claim-root: ...",),
        "alarms": ("core-node-missing: rendered x, found None",),
        "dashboards": (),
    }
    page = CHANGES.text(around_parts(differences))
    assert "\nBootstrap actions: a running cluster keeps those it was launched with\n    claim-root" in page
    assert "edits by hand stay" in " ".join(page.split())
    assert "Dashboards" not in page
    assert max(map(len, page.splitlines())) <= 80
