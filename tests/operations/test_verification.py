"""Whether a cluster is what our documents say: well, with each thing otherwise, and where nobody answers."""

from __future__ import annotations

import copy
import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from cli.verify import _page, _report
from configurations.classification import flattened
from configurations.exported import exported, region_server_flags
from lab.aws.extension import install
from operations import verification as module
from operations.aws import Aws
from operations.verification import PAGE, ROW, Finding, unsettled, verification
from operations.verification.look import PROGRAM
from sizing.units import GIB, MIB
from tests.operations.deployed import Deployed, deployed
from tests.operations.test_comparison import VARIABLES


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(Aws(VARIABLES), tmp_path)


def facts_of(here: Deployed) -> dict[str, Any]:
    """What a node of this launch says when all is well."""
    launch = here.launch
    core = launch.settings.effective("core")
    sizes = {volume.purpose: volume.size_gib for volume in launch.plan.core.volumes}
    account = here.aws.account
    return {
        "python": "3.9",
        "java": ["jre-17", "jre-21"],
        "region_server": {
            "pid": 1,
            "user": "hbase",
            "arguments": ["java", "-Xmx1g", *region_server_flags(exported(core))],
            "open_files": 131072,
            "processes": 65536,
        },
        "units": {
            "hbase-regionserver.service": {
                "DropInPaths": "/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf",
                "ExecStop": "{ path=/usr/lib/hbase/bin/hbase-daemon.sh ; }",
                "ActiveState": "active",
            },
            "hadoop-hdfs-datanode.service": {
                "DropInPaths": "/etc/systemd/system/hadoop-hdfs-datanode.service.d/10-warmbase.conf"
            },
            "warmbase-cache-metrics.timer": {"ActiveState": "active"},
        },
        "mounts": {
            f"/warmbase/{purpose}": {"source": "/dev/nvme1n1", "fstype": "xfs", "options": "rw", "size": size * GIB}
            for purpose, size in sizes.items()
        },
        "actions": {"mount-volumes": "done", "guard-regionserver": "done"},
        "figures": {"l2CacheSize": 0, "l2CacheFreeSize": launch.plan.cache.size_mib * MIB},
        "configuration": {
            key: launch.environment.in_account(value, account)
            for path, key, value in flattened(core)
            if path in {"core-site", "hbase-site"}
        },
    }


def found(
    here: Deployed, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Finding]:
    well = facts_of(here)
    other = copy.deepcopy(well)
    if change is not None:
        change(other)
    monkeypatch.setattr(module, "looked_at", lambda *_: {"i-1": well, "i-2": other})
    return {each.check: each for each in verification(here.aws, here.launch, lambda _: None)}


OF_NODES = {
    "drop-in of the RegionServer",
    "how the RegionServer is stopped",
    "drop-in of the DataNode",
    "Java",
    "the node's Python",
    "bootstrap actions",
    "user of HBase",
    "flags of the JVM",
    "volume of /warmbase/cache",
    "volume of /warmbase/system",
    "settings that the RegionServer has read",
    "size of the cache",
}


def test_nodes_that_are_well_are_said_to_be(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = found(here, monkeypatch)
    assert findings.keys() > OF_NODES
    assert [name for name in OF_NODES if not findings[name].good] == []
    assert findings["launch"].good
    assert findings["Systems Manager"].good


def _set(*path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(facts: dict[str, Any]) -> None:
        inner = facts
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("check", "change", "said"),
    [
        ("drop-in of the RegionServer", _set("units", "hbase-regionserver.service", value=None), "none"),
        ("how the RegionServer is stopped", _set("units", "hbase-regionserver.service", "ExecStop", value=""), "none"),
        ("drop-in of the DataNode", _set("units", "hadoop-hdfs-datanode.service", value={}), "none"),
        ("Java", _set("java", value=["jre-17"]), "jre-17"),
        ("the node's Python", _set("python", value="3.8"), "3.8"),
        ("bootstrap actions", _set("actions", value={}), "none ran"),
        ("bootstrap actions", _set("actions", "mount-volumes", value="begun"), "mount-volumes begun"),
        ("user of HBase", _set("region_server", "user", value="root"), "root"),
        ("user of HBase", _set("region_server", value=None), "no RegionServer runs"),
        ("flags of the JVM", _set("region_server", "arguments", value=["java", "-Xmx1g"]), "heaps: -Xmx1g"),
        ("volume of /warmbase/cache", _set("mounts", "/warmbase/cache", value=None), "not mounted"),
        ("volume of /warmbase/system", _set("mounts", "/warmbase/system", "size", value=9 * GIB), "9.0 GiB"),
        ("size of the cache", _set("figures", "l2CacheFreeSize", value=8192 * MIB), "8,192 MiB"),
        ("size of the cache", _set("figures", value=None), "does not say"),
        (
            "settings that the RegionServer has read",
            _set("configuration", "hbase.bucketcache.size", value="8192"),
            "hbase.bucketcache.size=8192",
        ),
        (
            "settings that the RegionServer has read",
            _set("configuration", "fs.s3a.retry.throttle.limit", value=None),
            "fs.s3a.retry.throttle.limit=None",
        ),
        ("settings that the RegionServer has read", _set("configuration", value=None), "does not say"),
    ],
)
def test_each_thing_that_is_otherwise_on_one_node_is_found(
    check: str, change: Callable[[dict[str, Any]], None], said: str, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = found(here, monkeypatch, change)[check]
    assert finding.good is False
    assert said in finding.found
    assert "1 of 2 nodes otherwise; i-2" in finding.found
    assert finding.todo != "nothing"


def test_where_no_node_answers_nothing_is_claimed(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "looked_at", lambda *_: {"i-1": None})
    findings = {each.check: each for each in verification(here.aws, here.launch, lambda _: None)}
    assert findings["Systems Manager"].good is False
    assert {findings[name].good for name in OF_NODES} == {None}


def test_every_row_of_the_page_is_settled_by_a_check_or_listed_for_a_hand(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = tuple(found(here, monkeypatch).values())
    rows = [each["what"] for each in ROW.finditer(PAGE.read_text())]
    assert len(rows) > 30
    for each in findings:
        if each.row:
            assert any(row.startswith(each.row) for row in rows), each.row
    left = unsettled(findings)
    assert 0 < len(left) < len(rows)
    report = _report("blue", "2026-11-22", here.launch, findings)
    assert all(what in report for what, _ in left)


def test_the_page_says_what_is_otherwise_in_eighty_columns(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = tuple(found(here, monkeypatch, _set("java", value=["jre-17"])).values())
    page = list(_page(findings))
    assert max(map(len, page)) <= 80
    assert "OTHERWISE   Java" in page


def test_the_program_reads_how_far_an_action_came(tmp_path: Path) -> None:
    file = tmp_path / "mount-volumes"
    file.write_text("done\n--cache-volume-gib=214 --owner=hbase\n")
    assert runpy.run_path(str(PROGRAM))["first_line"](file) == "done"


def test_the_program_sees_nothing_on_a_machine_that_is_no_node_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--region-server", "http://127.0.0.1:1", "hbase.rootdir"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    facts = json.loads(done.stdout)
    assert facts["region_server"] is None
    assert (facts["figures"], facts["configuration"]) == (None, None)
    assert facts["mounts"] == {"/warmbase/cache": None, "/warmbase/system": None}
