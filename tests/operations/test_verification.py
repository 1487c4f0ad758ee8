"""Verification of a cluster that is as documented, of each mismatch, and where nobody answers."""

from __future__ import annotations

import ast
import copy
import getpass
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from cli.verify import _page, _report
from configurations.node_files import exported, region_server_flags
from emr.classification import flattened
from local_aws.extension import install
from operations import verification as module
from operations.verification import PAGE, ROW, CheckResult, unsettled, verification
from operations.verification import monitoring as watched
from operations.verification.probe import PROGRAM
from sizing.units import GIB, MIB
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)


def facts_of(here: Deployed) -> dict[str, Any]:
    """Return what a node of this launch says when all is well."""
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
        "figures": {
            "l2CacheSize": 0,
            "l2CacheFreeSize": launch.plan.cache.size_mib * MIB,
            "shortCircuitBytesRead": MIB,
        },
        "devices": [
            {"name": "nvme1n1", "pkname": None, "type": "disk", "size": 64 * GIB, "mountpoint": None},
            {"name": "nvme1n1p1", "pkname": "nvme1n1", "type": "part", "size": 5 * GIB, "mountpoint": "/emr"},
            {"name": "nvme1n1p2", "pkname": "nvme1n1", "type": "part", "size": 59 * GIB, "mountpoint": "/mnt"},
        ],
        "owners": {"/warmbase/system/hdfs": "hdfs 700"},
        "logs": {"collector_bytes": 4096, "allocator_debug": True},
        "configuration": {
            key: launch.environment.in_account(value, account)
            for path, key, value in flattened(core)
            if path in {"core-site", "hbase-site"}
        },
    }


PRIMARY = {"master_caches": 0, "forgotten": "(InvalidRequestException): Cluster id 'j-0000000000000' is not valid."}


def found(
    here: Deployed, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, CheckResult]:
    well = facts_of(here)
    other = copy.deepcopy(well)
    if change is not None:
        change(other)
    monkeypatch.setattr(module, "probe_core_nodes", lambda *_: {"i-1": well, "i-2": other})
    monkeypatch.setattr(module, "probe_primary", lambda *_: PRIMARY)
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
    "EMR's part of a volume",
    "directory of the DataNode",
    "log of the collector",
    "loggers",
}
OF_PRIMARY = {"an id that EMR has forgotten", "the master"}


def test_nodes_that_are_well_are_said_to_be(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = found(here, monkeypatch)
    assert findings.keys() > OF_NODES
    assert [name for name in OF_NODES if not findings[name].good] == []
    assert [name for name in OF_PRIMARY if not findings[name].good] == []
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
        ("user of HBase", _set("region_server", value=None), "no RegionServer is running"),
        ("flags of the JVM", _set("region_server", "arguments", value=["java", "-Xmx1g"]), "heaps: -Xmx1g"),
        ("volume of /warmbase/cache", _set("mounts", "/warmbase/cache", value=None), "not mounted"),
        ("volume of /warmbase/system", _set("mounts", "/warmbase/system", "size", value=9 * GIB), "9.0 GiB"),
        ("size of the cache", _set("figures", "l2CacheFreeSize", value=8192 * MIB), "8,192 MiB"),
        ("size of the cache", _set("figures", value=None), "does not say"),
        ("EMR's part of a volume", _set("devices", value=None), "lsblk does not say"),
        ("EMR's part of a volume", _set("devices", value=[]), "none"),
        ("directory of the DataNode", _set("owners", value={}), "there is none"),
        ("directory of the DataNode", _set("owners", "/warmbase/system/hdfs", value="root 755"), "root 755"),
        ("log of the collector", _set("logs", "collector_bytes", value=None), "there is none"),
        ("log of the collector", _set("logs", "collector_bytes", value=0), "0 B"),
        ("loggers", _set("logs", "allocator_debug", value=False), "there are none"),
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
    monkeypatch.setattr(module, "probe_core_nodes", lambda *_: {"i-1": None})
    monkeypatch.setattr(module, "probe_primary", lambda *_: "inspect-primary left no answer")
    findings = {each.check: each for each in verification(here.aws, here.launch, lambda _: None)}
    assert findings["Systems Manager"].good is False
    assert {findings[name].good for name in OF_NODES | OF_PRIMARY} == {None}
    assert "The master ignores" in " ".join(what for what, _ in unsettled(tuple(findings.values())))


@pytest.mark.parametrize(
    ("check", "otherwise"),
    [
        ("the master", {"master_caches": 2}),
        ("an id that EMR has forgotten", {"forgotten": "(ValidationException): no such cluster"}),
    ],
)
def test_each_thing_that_is_otherwise_on_the_primary_is_found(
    check: str, otherwise: dict[str, object], here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_primary(here, monkeypatch, otherwise)[check].good is False


def test_of_a_master_without_a_log_nobody_can_say(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_primary(here, monkeypatch, {"master_caches": None})["the master"].good is None


def on_primary(here: Deployed, monkeypatch: pytest.MonkeyPatch, otherwise: dict[str, object]) -> dict[str, CheckResult]:
    well = facts_of(here)
    monkeypatch.setattr(module, "probe_core_nodes", lambda *_: {"i-1": well})
    monkeypatch.setattr(module, "probe_primary", lambda *_: PRIMARY | otherwise)
    return {each.check: each for each in verification(here.aws, here.launch, lambda _: None)}


def test_every_row_of_the_page_is_settled_by_a_check_or_listed_for_a_hand(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = tuple(found(here, monkeypatch).values())
    rows = [match["what"] for match in ROW.finditer(PAGE.read_text())]
    assert len(rows) > 30
    for finding in findings:
        if finding.row:
            assert any(row.startswith(finding.row) for row in rows), finding.row
    left = unsettled(findings)
    assert 0 < len(left) < len(rows)
    report = _report("blue", "2026-11-22", here.launch, findings)
    assert all(what in report for what, _ in left)


def test_the_page_tells_rows_that_verify_looks_at_from_those_that_take_a_trial() -> None:
    looked_at, to_be_tried = PAGE.read_text().split("## To be tried")
    # Every check says in its own text which row it settles, for whatever cluster.
    parsed = [ast.parse(file.read_text()) for file in Path(module.__file__).parent.glob("*.py")]
    texts = [node.value for tree in parsed for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    rows = [text for text in texts if isinstance(text, str) and len(text) > len("DataNode")]
    for what in (match["what"] for match in ROW.finditer(looked_at)):
        assert any(what.startswith(row) for row in rows), what
    for what in (match["what"] for match in ROW.finditer(to_be_tried)):
        assert not any(what.startswith(row) for row in rows), what


def test_the_page_says_what_is_otherwise_in_eighty_columns(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = tuple(found(here, monkeypatch, _set("java", value=["jre-17"])).values())
    page = list(_page(findings))
    assert max(map(len, page)) <= 80
    assert "MISMATCH    Java" in page


def test_the_program_reads_how_far_an_action_came(tmp_path: Path) -> None:
    file = tmp_path / "mount-volumes"
    file.write_text("done\n--cache-volume-gib=214 --owner=hbase\n")
    assert runpy.run_path(str(PROGRAM))["first_line"](file) == "done"


def test_the_program_sees_nothing_on_a_machine_that_is_no_node_and_says_so(tmp_path: Path) -> None:
    """The machine of the tests may run an HBase of its own: neither its processes nor its commands are looked at."""
    nowhere = ("--region-server", "http://127.0.0.1:1", "--proc", str(tmp_path), "--logs", str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *nowhere, "hbase.rootdir"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    facts = json.loads(done.stdout)
    assert facts["region_server"] is None
    assert (facts["figures"], facts["configuration"]) == (None, None)
    assert facts["mounts"] == {"/warmbase/cache": None, "/warmbase/system": None}


def test_the_program_finds_the_process_of_the_region_server(tmp_path: Path) -> None:
    for pid, command in (
        (12, "java\0-Xmx1g\0org.apache.hadoop.hbase.regionserver.HRegionServer\0start\0"),
        (7, "sh\0"),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text(command)
        (tmp_path / str(pid) / "limits").write_text("Max open files            131072  131072  files\n")
    process = runpy.run_path(str(PROGRAM))["region_server"](tmp_path)
    assert (process["pid"], process["user"]) == (12, getpass.getuser())
    assert (process["open_files"], process["processes"]) == (131072, None)
    assert "-Xmx1g" in process["arguments"]


@pytest.mark.parametrize(
    ("drawn", "of_requests", "of_all"),
    [
        (lambda _: True, True, True),
        (lambda title: not title.startswith("Requests to S3"), True, None),
        (lambda title: title.startswith("Requests to S3"), False, None),
        (lambda _: False, False, False),
    ],
    ids=["all", "without requests to S3", "that alone", "none"],
)
def test_graphs_that_are_empty_are_told_from_graphs_that_cannot_be_drawn(
    drawn: Callable[[str], bool],
    of_requests: object,
    of_all: object,
    here: Deployed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watched, "_shows", lambda _, graph: drawn(graph.title))
    findings = found(here, monkeypatch)
    assert findings["the graph of requests"].good is of_requests
    assert findings["graphs"].good is of_all


def test_a_graph_that_cloudwatch_refuses_is_said(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bool:
        raise ClientError({"Error": {"Code": "ValidationError", "Message": "no such function"}}, "GetMetricData")

    monkeypatch.setattr(watched, "_shows", refused)
    findings = found(here, monkeypatch)
    assert findings["graphs"].good is False
    assert "no such function" in findings["graphs"].found


def test_what_is_to_be_corrected_is_there() -> None:
    """Each file that a check names exists."""
    project = PAGE.parents[1]
    checks = "".join(file.read_text() for file in Path(module.__file__).parent.glob("*.py"))
    named = set(
        re.findall(r"\b(?:configurations|operations|stacks|dashboards|bootstrap-actions|docs)/[a-z_/-]+\.\w+", checks)
    )
    assert len(named) > 8
    assert [name for name in named if not (project / name).exists()] == []


def test_the_program_finds_what_a_logger_writes_at_debug_alone(tmp_path: Path) -> None:
    logs = runpy.run_path(str(PROGRAM))["logs"]
    assert logs(tmp_path) == {"collector_bytes": None, "allocator_debug": False}
    (tmp_path / "regionserver-gc.log").write_text("[gc] x")
    own = tmp_path / "hbase-hbase-regionserver-ip-10-0-0-1.log"
    own.write_text("2026 INFO bucket.BucketAllocator: x\n2026 DEBUG bucket.BucketCache: x\n")
    assert logs(tmp_path) == {"collector_bytes": 6, "allocator_debug": False}
    own.write_text("2026 DEBUG [thread] bucket.BucketAllocator: statistics\n")
    assert logs(tmp_path)["allocator_debug"]


def test_the_program_says_whose_a_directory_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    owner = runpy.run_path(str(PROGRAM))["owner"]
    assert owner(str(tmp_path)) == f"{getpass.getuser()} 750"
    assert owner(str(tmp_path / "none")) is None
