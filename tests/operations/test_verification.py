"""`verification` passes a healthy cluster, reports each mismatch, and says where a node does not answer."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients
from warmbase.cli.page import Page
from warmbase.cli.prove.verify import _page, _report
from warmbase.configurations.node_files import exported, region_server_flags
from warmbase.emr.cluster_spec import flattened
from warmbase.engines import trino
from warmbase.environments.environment import HBaseSecurity, Kerberos
from warmbase.ground.units import GIB, MIB
from warmbase.hfile.cache_index import CachedFile
from warmbase.operations.cluster.hbase_control import CacheContents
from warmbase.operations.verify import services
from warmbase.operations.verify import verification as module
from warmbase.operations.verify.check import HARMS, PAGE, CheckResult, read_statements
from warmbase.operations.verify.nodes import READ_ONLY, index_checks, node_checks, region_server_checks, replica_checks
from warmbase.operations.verify.verification import hbase_checks, stranger_checks, unsettled, verification

BLOCKS = 1000
UNIT = "hbase-regionserver.service"
SOURCES = (*Path(module.__file__).parent.glob("*.py"), *Path(trino.__file__).parent.glob("*.py"))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """One cluster for every test, because verification only reads."""
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path_factory.mktemp("verification"))


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the settings in force to their own tests."""
    monkeypatch.setattr(module, "read_effective_settings", lambda *_: {})


@pytest.fixture
def _node_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the checks that ask AWS."""
    monkeypatch.setattr(module, "CHECKS", (hbase_checks, node_checks, region_server_checks))


def facts_of(here: Deployed) -> dict[str, Any]:
    """Return the facts of a healthy node of this launch."""
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
            UNIT: {
                "DropInPaths": "/etc/systemd/system/hbase-regionserver.service.d/10-warmbase.conf",
                "ExecStop": "{ path=/usr/lib/hbase/bin/hbase-daemon.sh ; }",
                "ActiveState": "active",
            },
            "hadoop-hdfs-datanode.service": {
                "DropInPaths": "/etc/systemd/system/hadoop-hdfs-datanode.service.d/10-warmbase.conf"
            },
            "warmbase-cache-metrics.timer": {"ActiveState": "active"},
            "warmbase-claim.timer": {"ActiveState": "active"},
        },
        "mounts": {
            f"/warmbase/{purpose}": {"source": "/dev/nvme1n1", "fstype": "xfs", "options": "rw", "size": size * GIB}
            for purpose, size in sizes.items()
        },
        "actions": {"mount-volumes": "done", "guard-regionserver": "done", "watch-claim": "done"},
        "figures": {
            "l2CacheSize": 0,
            "l2CacheCount": BLOCKS,
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
        "stranger": "served",
        "configuration": {
            key: launch.environment.in_account(value, account)
            for path, key, value in flattened(core)
            if path in {"core-site", "hbase-site"}
        },
    }


CACHE = CacheContents(age_seconds=60, behind_seconds=0, longest_seconds=1200, files={"f": CachedFile(BLOCKS, 10)})
PRIMARY = {"master_caches": 0, "forgotten": "(InvalidRequestException): Cluster id 'j-0000000000000' is not valid."}


def results(
    here: Deployed,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[dict[str, Any]], None] = lambda _: None,
    **primary: object,
) -> dict[str, CheckResult]:
    healthy = facts_of(here)
    other = copy.deepcopy(healthy)
    change(other)
    monkeypatch.setattr(module, "probe_nodes", lambda *_: {"i-1": healthy, "i-2": other})
    monkeypatch.setattr(module, "probe_primary", lambda *_: PRIMARY | primary)
    monkeypatch.setattr(module, "probe_caches", lambda *_: dict.fromkeys(("i-1", "i-2"), CACHE))
    return {result.check: result for result in verification(here.aws, here.launch, lambda _: None)}


OF_NODES = {
    "systemd drop-in of the RegionServer",
    "stop command of the RegionServer",
    "systemd drop-in of the DataNode",
    "Java",
    "Python of the node",
    "bootstrap actions",
    "watch of the claim",
    "user of HBase",
    "JVM flags",
    "volume at /warmbase/cache",
    "volume at /warmbase/system",
    "properties in force",
    "cache size",
    "index of the cache",
    "EMR's partition",
    "owner of the DataNode's directory",
    "garbage collector log",
    "log levels",
}
OF_PRIMARY = {"unknown cluster id", "cache of the master"}


def test_healthy_nodes_pass_every_check(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = results(here, monkeypatch)
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
    ("check", "change", "observed"),
    [
        ("systemd drop-in of the RegionServer", _set("units", UNIT, value=None), "no DropInPaths"),
        ("stop command of the RegionServer", _set("units", UNIT, "ExecStop", value=""), "no ExecStop"),
        ("systemd drop-in of the DataNode", _set("units", "hadoop-hdfs-datanode.service", value={}), "no DropInPaths"),
        ("Java", _set("java", value=["jre-17"]), "jre-17"),
        ("Python of the node", _set("python", value="3.8"), "3.8"),
        ("bootstrap actions", _set("actions", value={}), "no bootstrap action ran"),
        ("bootstrap actions", _set("actions", "mount-volumes", value="begun"), "mount-volumes begun"),
        ("watch of the claim", _set("units", "warmbase-claim.timer", value=None), "the timer is not installed"),
        ("user of HBase", _set("region_server", "user", value="root"), "root"),
        ("user of HBase", _set("region_server", value=None), "no RegionServer is running"),
        ("JVM flags", _set("region_server", "arguments", value=["java", "-Xmx1g"]), "heap flags: -Xmx1g"),
        ("volume at /warmbase/cache", _set("mounts", "/warmbase/cache", value=None), "not mounted"),
        ("volume at /warmbase/system", _set("mounts", "/warmbase/system", "size", value=9 * GIB), "9.0 GiB"),
        ("cache size", _set("figures", "l2CacheFreeSize", value=8192 * MIB), "8,192 MiB"),
        ("cache size", _set("figures", value=None), "no answer"),
        ("EMR's partition", _set("devices", value=None), "no answer from lsblk"),
        ("EMR's partition", _set("devices", value=[]), "no small partition"),
        ("owner of the DataNode's directory", _set("owners", value={}), "does not exist"),
        ("owner of the DataNode's directory", _set("owners", "/warmbase/system/hdfs", value="root 755"), "root 755"),
        ("garbage collector log", _set("logs", "collector_bytes", value=None), "does not exist"),
        ("garbage collector log", _set("logs", "collector_bytes", value=0), "0 B"),
        ("log levels", _set("logs", "allocator_debug", value=False), "no such line"),
        ("properties in force", _set("configuration", "hbase.bucketcache.size", value="8192"), "cache.size=8192"),
        ("properties in force", _set("configuration", "fs.s3a.retry.throttle.limit", value=None), ".limit=None"),
        ("properties in force", _set("configuration", value=None), "no answer"),
    ],
)
@pytest.mark.usefixtures("_node_checks")
def test_a_difference_on_one_node_is_a_mismatch(
    check: str, change: Callable[[dict[str, Any]], None], observed: str, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = results(here, monkeypatch, change)[check]
    assert finding.good is False
    assert observed in finding.found
    assert "1 of 2 nodes differ; i-2" in finding.found
    assert finding.todo != "nothing"


def test_only_a_cluster_with_kerberos_must_refuse_a_client_without_a_ticket(here: Deployed) -> None:
    kerberos = Kerberos(realm="EC2.INTERNAL", admin_password="{{resolve:secretsmanager:hbase/kdc}}")
    nodes = {"i-1": {"stranger": "refused"}, "i-2": {"stranger": "served"}, "i-3": {"stranger": None}}
    for security, expected in ((HBaseSecurity(), []), (HBaseSecurity(kerberos=kerberos), ["2 of 3 nodes differ"])):
        context: Any = SimpleNamespace(launch=replace(here.launch, security=security), nodes=nodes)
        results = list(stranger_checks(context))
        assert [result.found.partition(";")[0] for result in results] == expected
        assert not any(result.good for result in results)


@pytest.mark.parametrize(
    ("configuration", "observed"),
    [({READ_ONLY: "true"}, None), ({READ_ONLY: "false"}, "=false"), ({READ_ONLY: None}, "=None"), (None, "=None")],
)
def test_each_node_of_a_replica_must_be_read_only(
    here: Deployed, configuration: dict[str, str | None] | None, observed: str | None
) -> None:
    nodes = {"i-1": {"configuration": {READ_ONLY: "true"}}, "i-2": {"configuration": configuration}}
    active = here.launch.environment
    replica = replace(active, clusters={"blue": replace(active.clusters["blue"], role="replica")})
    context: Any = SimpleNamespace(launch=replace(here.launch, environment=replica), nodes=nodes)
    [result] = replica_checks(context)
    assert result.good is (observed is None)
    assert (observed or "=true") in result.found
    context.launch = here.launch
    assert list(replica_checks(context)) == []


def test_results_are_unknown_where_no_node_answers(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "probe_nodes", lambda *_: {"i-1": None})
    monkeypatch.setattr(module, "probe_primary", lambda *_: "inspect-primary left no answer")
    findings = {result.check: result for result in verification(here.aws, here.launch, lambda _: None)}
    assert findings["Systems Manager"].good is False
    assert {findings[name].good for name in OF_NODES | OF_PRIMARY} == {None}
    assert "The master ignores" in " ".join(row.what for row in unsettled(tuple(findings.values()), "hbase"))


@pytest.mark.parametrize(
    ("counted", "behind", "good"),
    [(BLOCKS, 0, True), (1019, 600, True), (1021, 0, False), (900, 0, False), (1100, 30, None)],
)
def test_an_index_has_the_blocks_that_its_server_counts_unless_the_cache_has_changed_since(
    counted: int, behind: float, good: object, here: Deployed
) -> None:
    nodes: Any = {"i-1": {"figures": {"l2CacheCount": BLOCKS}}, "i-2": {"figures": {"l2CacheCount": counted}}}
    caches = {"i-1": CACHE, "i-2": replace(CACHE, behind_seconds=behind)}
    context: Any = SimpleNamespace(launch=here.launch, nodes=nodes, caches=caches)
    [result] = index_checks(context)
    assert result.good is good
    assert ("i-2: 1,000 blocks in the index" in result.found) == (good is not True)
    nodes["i-2"]["figures"] = None
    assert [result.good for result in index_checks(context)] == [True]
    # An index that its cache has outgrown does not hide the difference of another node.
    nodes["i-2"]["figures"], nodes["i-1"]["figures"] = {"l2CacheCount": 900}, {"l2CacheCount": 900}
    context.caches = {"i-1": replace(CACHE, behind_seconds=30), "i-2": CACHE}
    [result] = index_checks(context)
    assert (result.good, result.found.partition(":")[0]) == (False, "i-2")
    context.caches = "there is no index at /warmbase/cache/index/bucketcache.index"
    assert [result.good for result in index_checks(context)] == [False]


@pytest.mark.parametrize(
    ("check", "difference", "good"),
    [
        ("cache of the master", {"master_caches": 2}, False),
        ("cache of the master", {"master_caches": None}, None),  # a master without a log
        ("unknown cluster id", {"forgotten": "(ValidationException): no such cluster"}, False),
        ("unknown cluster id", {"forgotten": "(InvalidRequestException): no such cluster"}, False),
    ],
)
def test_a_difference_on_the_primary_is_a_mismatch(
    check: str, difference: dict[str, Any], good: object, here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert results(here, monkeypatch, **difference)[check].good is good


def test_every_row_of_the_page_has_a_check_or_is_listed_for_a_check_by_hand(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = tuple(results(here, monkeypatch).values())
    rows = [statement.what for statement in read_statements()]
    assert len(rows) > 30
    for finding in findings:
        if finding.row:
            assert any(row.startswith(finding.row) for row in rows), finding.row
    unconfirmed = unsettled(findings, "hbase")
    assert 0 < len(unconfirmed) < len(rows)
    report = _report("2026-11-22", here.launch, findings)
    assert all(statement.what in report and statement.harm in report for statement in unconfirmed)


def test_every_row_of_the_page_is_read_and_the_worst_stand_first() -> None:
    text = PAGE.read_text().partition("## Statements with two readings")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| what |")]
    statements = read_statements()
    assert len(statements) == len(rows)
    for table, group in groupby(statements, key=lambda statement: (statement.engine, statement.by_hand)):
        ranks = [HARMS.index(statement.harm) for statement in group]
        assert ranks == sorted(ranks), table


def test_the_page_separates_rows_that_verify_checks_from_rows_that_take_an_experiment() -> None:
    # Each check names its row in the source, also a check that this cluster does not need.
    parsed = [ast.parse(file.read_text()) for file in SOURCES]
    texts = [node.value for tree in parsed for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    rows = [text for text in texts if isinstance(text, str) and len(text) > len("DataNode")]
    for statement in read_statements():
        assert any(statement.what.startswith(row) for row in rows) is not statement.by_hand, statement.what


def test_the_page_shows_mismatches_in_eighty_columns(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = tuple(results(here, monkeypatch, _set("java", value=["jre-17"])).values())
    page = Page().lines(_page(findings))
    assert max(map(len, page)) <= 80
    assert "MISMATCH    Java" in page


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
def test_empty_graphs_differ_from_graphs_that_cannot_be_drawn(
    drawn: Callable[[str], bool],
    of_requests: object,
    of_all: object,
    here: Deployed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "_shows", lambda _, graph: drawn(graph.title))
    monkeypatch.setattr(module, "CHECKS", (services.monitoring_checks,))
    findings = results(here, monkeypatch)
    assert findings["graph of requests"].good is of_requests
    assert findings["graphs"].good is of_all


def test_a_graph_that_cloudwatch_refuses_is_a_mismatch(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = ClientError({"Error": {"Code": "ValidationError", "Message": "no such function"}}, "GetMetricData")
    monkeypatch.setattr(services, "_shows", Mock(side_effect=refused))
    monkeypatch.setattr(module, "CHECKS", (services.monitoring_checks,))
    graphs = results(here, monkeypatch)["graphs"]
    assert (graphs.good, "no such function" in graphs.found) == (False, True)


def test_every_file_that_a_check_names_exists() -> None:
    project = PAGE.parents[2]
    checks = "".join(file.read_text() for file in SOURCES)
    rooms = "sizing|facts|configurations|operations|stacks|dashboards|bootstrap-actions|docs"
    files = set(re.findall(rf"\b(?:{rooms})/[a-z_/-]+\.\w+", checks))
    assert len(files) > 8
    assert [
        name for name in files if not any((place / name).exists() for place in (project, project / "warmbase"))
    ] == []


def test_an_endpoint_that_somebody_opened_is_named(here: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """EC2 sets the default policy, which allows everything, when a policy is reset."""
    assert results(here, monkeypatch)["endpoint policies"].good is True
    endpoints = here.aws.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    [gateway] = [endpoint for endpoint in endpoints if endpoint["ServiceName"].endswith(".s3")]
    endpoint_id, policy = gateway["VpcEndpointId"], gateway["PolicyDocument"]
    opened = '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}]}'
    here.aws.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=opened)
    try:
        result = results(here, monkeypatch)["endpoint policies"]
    finally:
        here.aws.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=policy)
    assert result.good is False
    assert result.found.startswith("without: s3;")
