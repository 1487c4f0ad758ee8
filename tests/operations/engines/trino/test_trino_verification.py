"""`verify` on an analytics cluster: healthy workers pass, and each mismatch is reported, on a mocked AWS."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from moto import mock_aws

from local_aws.extension import install
from tests.operations.engines.trino.test_trino_lifecycle import LAKE, Shop
from tests.operations.mocked_aws import clients
from warmbase.cli.page import Page
from warmbase.cli.prove.verify import _page, _report, verify
from warmbase.dashboards.graph import Graph
from warmbase.engines.trino import verification
from warmbase.engines.trino.boards import TRINO_METRICS
from warmbase.engines.trino.properties import cache_directories
from warmbase.engines.trino.rendering import TrinoLaunch, trino_launch_of
from warmbase.engines.trino.verification import LEAST_JAVA, SERVER_CHECKS, rendered_properties
from warmbase.ground.units import GIB
from warmbase.operations.cluster.caches import NAMESPACE
from warmbase.operations.verify import services
from warmbase.operations.verify.check import CheckResult, read_statements
from warmbase.operations.verify.nodes import node_checks
from warmbase.operations.verify.verification import unsettled

CACHE = "/warmbase/cache/trino"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One environment for every test, because verification only reads."""
    install()
    with mock_aws():
        yield Shop(clients(), tmp_path_factory.mktemp("verification") / "shop.yaml")


@pytest.fixture
def _node_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the checks that ask AWS."""
    monkeypatch.setattr(verification, "CHECKS", (node_checks, *SERVER_CHECKS))


def launch_of(lake: Shop) -> TrinoLaunch:
    return trino_launch_of(lake.environment, lake.environment.analytics[LAKE])


def worker_of(launch: TrinoLaunch) -> dict[str, Any]:
    """Return the facts of a healthy worker that was restarted with a warm cache."""
    sizes = {volume.purpose: volume.size_gib for volume in launch.plan.workers.volumes}
    drop_in = "/etc/systemd/system/{}.d/10-warmbase.conf"
    guard = "{ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -I /usr/local/lib/warmbase/before_trino_worker.py ; }"
    return {
        "python": "3.9",
        "units": {
            "trino-server.service": {
                "DropInPaths": drop_in.format("trino-server.service"),
                "ExecStartPre": guard,
                "ActiveState": "active",
            },
            "hadoop-hdfs-datanode.service": {"DropInPaths": drop_in.format("hadoop-hdfs-datanode.service")},
            "warmbase-trino-metrics.timer": {"ActiveState": "active"},
        },
        "mounts": {
            f"/warmbase/{purpose}": {"source": "/dev/nvme1n1", "fstype": "xfs", "options": "rw", "size": size * GIB}
            for purpose, size in sizes.items()
        },
        "actions": {"mount-volumes": "done", "guard-trino-worker": "done", "publish-trino-metrics": "done"},
        "devices": [
            {"name": "nvme1n1p1", "pkname": "nvme1n1", "type": "part", "size": 5 * GIB, "mountpoint": "/emr"},
            {"name": "nvme1n1p2", "pkname": "nvme1n1", "type": "part", "size": 59 * GIB, "mountpoint": "/mnt"},
        ],
        "owners": {"/warmbase/system/hdfs": "hdfs 700", CACHE: "trino 750"},
        "trino": {"pid": 1, "user": "trino", "arguments": ["java"], "open_files": 131072, "processes": 65536},
        "info": {"version": "476-amzn-1", "coordinator": False, "starting": False},
        "figures": {
            "java": "24",
            "started_ms": 1_700_000_000_000,
            "heap_bytes": launch.plan.memory.heap_bytes,
            "cached_bytes": 3.0 * GIB,
            "fetched_bytes": 1.0 * GIB,
            "space_bytes": 100 * GIB,
        },
        "configuration": dict(rendered_properties(launch, "core")),
        "pages": {"bytes": 100 * GIB, "older_bytes": 90 * GIB},
    }


def coordinator_of(launch: TrinoLaunch) -> dict[str, Any]:
    return {
        "info": {"version": "476-amzn-1", "coordinator": True, "starting": False},
        "configuration": dict(rendered_properties(launch, "primary")),
    }


Change = Callable[[dict[str, Any]], None]


def results(
    lake: Shop, monkeypatch: pytest.MonkeyPatch, change: Change | None = None, *, of_coordinator: Change | None = None
) -> dict[str, CheckResult]:
    """Return the results where one of two workers, or the coordinator, is changed."""
    launch = launch_of(lake)
    healthy, coordinator = worker_of(launch), coordinator_of(launch)
    other = copy.deepcopy(healthy)
    for facts, of_facts in ((other, change), (coordinator, of_coordinator)):
        if of_facts is not None:
            of_facts(facts)
    nodes = {"CORE": {"i-1": healthy, "i-2": other}, "MASTER": {"i-0": coordinator}}
    monkeypatch.setattr(verification, "probe_nodes", lambda _aws, _cluster, group, *_: nodes[group])
    return {result.check: result for result in verification.verification(lake.aws, launch, lambda _: None)}


def _set(*path: str, value: object) -> Change:
    def change(facts: dict[str, Any]) -> None:
        inner = facts
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


OF_NODES = {
    "Python of the node",
    "volume at /warmbase/cache",
    "volume at /warmbase/system",
    "systemd drop-in of the DataNode",
    "EMR's partition",
    "owner of the DataNode's directory",
    "bootstrap actions",
    "systemd drop-in of Trino",
    "user of Trino",
    "guard of Trino",
    "publisher",
    f"owner of {CACHE}",
    "version of Trino",
    "JMX of the workers",
    "Java of Trino",
    "heap of Trino",
    "properties of the workers",
    "file-system cache",
    "reads from the cache",
    "pages after a restart",
}
OF_COORDINATOR = {"port of the coordinator", "properties of the coordinator"}


def test_a_healthy_cluster_passes_every_check_of_its_nodes(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = results(lake, monkeypatch)
    assert findings.keys() > OF_NODES | OF_COORDINATOR
    assert {name: findings[name].found for name in OF_NODES | OF_COORDINATOR if not findings[name].good} == {}
    assert findings["launch"].good
    assert findings["Systems Manager"].good
    assert findings["endpoint policies"].good
    assert cache_directories(launch_of(lake).plan) == (CACHE,)
    assert not {"claim of the root", "metrics, RegionServer", "large volumes"} & findings.keys()


@pytest.mark.parametrize(
    ("check", "change", "observed"),
    [
        ("systemd drop-in of Trino", _set("units", "trino-server.service", value=None), "no DropInPaths"),
        ("guard of Trino", _set("units", "trino-server.service", "ExecStartPre", value=""), "no ExecStartPre"),
        ("publisher", _set("units", "warmbase-trino-metrics.timer", "ActiveState", value="inactive"), "inactive"),
        ("bootstrap actions", _set("actions", "guard-trino-worker", value="begun"), "guard-trino-worker begun"),
        ("user of Trino", _set("trino", "user", value="root"), "root"),
        ("user of Trino", _set("trino", value=None), "Trino is not running"),
        (f"owner of {CACHE}", _set("owners", CACHE, value="root 755"), "root 755"),
        (f"owner of {CACHE}", _set("owners", value={}), "does not exist"),
        ("version of Trino", _set("info", "version", value="479-amzn-1"), "Trino 479-amzn-1"),
        ("version of Trino", _set("info", value=None), "no answer from Trino at port 8889"),
        ("JMX of the workers", _set("figures", "started_ms", value=None), "not to JMX requests"),
        ("JMX of the workers", _set("info", value=None), "no answer"),
        ("Java of Trino", _set("figures", "java", value="21"), "Java 21"),
        ("heap of Trino", _set("figures", "heap_bytes", value=32 * GIB), "32 GiB"),
        (
            "properties of the workers",
            _set("configuration", "catalog/hive.properties:fs.cache.max-sizes", value="1GB"),
            "catalog/hive.properties:fs.cache.max-sizes=1GB",
        ),
        (
            "properties of the workers",
            _set("configuration", "config.properties:spill-enabled", value=None),
            "config.properties:spill-enabled=None",
        ),
        ("file-system cache", _set("figures", "cached_bytes", value=None), "has no cache"),
        ("file-system cache", _set("info", value=None), "no answer"),
        ("reads from the cache", _set("figures", "fetched_bytes", value=None), "has no cache"),
        ("pages after a restart", _set("figures", "space_bytes", value=97 * GIB), "97.0 GiB counted"),
        ("pages after a restart", _set("figures", "space_bytes", value=0), "0.0 GiB counted"),
        ("volume at /warmbase/cache", _set("mounts", "/warmbase/cache", value=None), "not mounted"),
    ],
)
@pytest.mark.usefixtures("_node_checks")
def test_a_difference_on_one_worker_is_a_mismatch(
    check: str, change: Change, observed: str, lake: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = results(lake, monkeypatch, change)[check]
    assert finding.good is False
    assert observed in finding.found
    assert "1 of 2 nodes differ; i-2" in finding.found
    assert finding.todo != "nothing"


@pytest.mark.parametrize(
    ("check", "change", "observed"),
    [
        ("port of the coordinator", _set("info", value=None), "no answer"),
        ("port of the coordinator", _set("info", "coordinator", value=False), "a worker answers there"),
        (
            "properties of the coordinator",
            _set("configuration", "catalog/hive.properties:fs.cache.directories", value=CACHE),
            f"fs.cache.directories={CACHE}",
        ),
    ],
)
@pytest.mark.usefixtures("_node_checks")
def test_a_difference_on_the_coordinator_is_a_mismatch(
    check: str, change: Change, observed: str, lake: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = results(lake, monkeypatch, of_coordinator=change)[check]
    assert finding.good is False
    assert observed in finding.found


NO_READS = {"cached_bytes": 0.0, "fetched_bytes": 0.0}


@pytest.mark.parametrize(
    ("check", "change", "good"),
    [
        ("reads from the cache", {"figures": NO_READS}, None),
        ("reads from the cache", {"figures": {**NO_READS, "fetched_bytes": 9.0}}, None),
        ("reads from the cache", {"figures": {**NO_READS, "fetched_bytes": 9.0, "space_bytes": 0}}, False),
        ("pages after a restart", {"pages": {"older_bytes": 0}}, None),
        ("Java of Trino", {"figures": {"java": None}}, None),
        ("heap of Trino", {"figures": {"heap_bytes": None}}, None),
    ],
)
@pytest.mark.usefixtures("_node_checks")
def test_only_what_a_worker_shows_confirms_or_refutes(
    check: str, change: dict[str, dict[str, object]], good: object, lake: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown verdict of both workers is unknown; that of one leaves the verdict of the other."""
    launch = launch_of(lake)
    facts = worker_of(launch)
    for name, values in change.items():
        facts[name].update(values)
    for nodes, expected in (({"i-1": facts}, good), ({"i-1": facts, "i-2": worker_of(launch)}, good is None)):
        monkeypatch.setattr(verification, "probe_nodes", lambda *_, workers=nodes: workers)
        findings = {result.check: result for result in verification.verification(lake.aws, launch, lambda _: None)}
        assert findings[check].good is expected


def test_results_are_unknown_where_no_node_answers(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "probe_nodes", lambda *_: {"i-1": None})
    findings = {result.check: result for result in verification.verification(lake.aws, launch_of(lake), lambda _: None)}
    assert findings["Systems Manager"].good is False
    assert {findings[name].good for name in OF_NODES | OF_COORDINATOR} == {None}
    open_rows = " ".join(row.what for row in unsettled(tuple(findings.values()), "trino"))
    assert "Amazon's build of Trino has the file-system cache" in open_rows
    assert "RegionServer" not in open_rows


def test_a_healthy_cluster_leaves_only_what_takes_an_experiment(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = tuple(results(lake, monkeypatch).values())
    rows = [statement.what for statement in read_statements()]
    for finding in findings:
        if finding.row:
            assert any(row.startswith(finding.row) for row in rows), finding.row
    region, snapshot = unsettled(findings, "trino")
    assert "region" in region.what
    assert snapshot.what.startswith("Hive reads a snapshot")
    report = _report("2026-11-26", launch_of(lake), findings)
    assert "emr-7.12.0, 5 x i8g.2xlarge, Trino 476." in report
    assert region.what in report
    assert snapshot.what in report
    assert max(map(len, Page().lines(_page(findings)))) <= 80


def test_the_least_java_follows_the_version_of_trino() -> None:
    """Trino 465 needs Java 23, and Trino 476 needs Java 24: release notes of these versions."""
    assert LEAST_JAVA == ((476, 24), (0, 23))


def test_each_worker_must_publish_each_figure(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "cache figures"
    monkeypatch.setattr(verification, "CHECKS", (verification._monitoring_checks,))
    monkeypatch.setattr(services, "_shows", lambda *_: True)
    assert results(lake, monkeypatch)[name].good is False
    cluster = next(one for one in lake.aws.emr.list_clusters()["Clusters"] if one["Name"] == "warmbase-shop-lake")

    def publish(figure: str, *workers: str) -> None:
        dimensions = [[("ClusterId", cluster["Id"]), ("InstanceId", worker)] for worker in workers]
        lake.aws.cloudwatch.put_metric_data(
            Namespace=NAMESPACE,
            MetricData=[
                {"MetricName": figure, "Value": 1, "Dimensions": [{"Name": key, "Value": value} for key, value in one]}
                for one in dimensions
            ],
        )

    for figure in TRINO_METRICS.keys() - {"HitRate", "DiskUsed"}:
        publish(figure, "i-1", "i-2")
    publish("DiskUsed", "i-1")
    finding = results(lake, monkeypatch)[name]
    assert (finding.good, finding.found) == (False, "1 figures are incomplete: DiskUsed is missing from i-2")
    assert "warmbase-trino-metrics" in finding.todo
    publish("DiskUsed", "i-2")
    finding = results(lake, monkeypatch)[name]
    assert (finding.good, finding.found) == (True, "all but HitRate: there have been no reads yet")


def test_a_graph_that_is_empty_is_named(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def shows(_: object, graph: Graph) -> bool:
        return not graph.title.startswith("Pages evicted")

    monkeypatch.setattr(verification, "CHECKS", (verification._monitoring_checks,))
    monkeypatch.setattr(services, "_shows", shows)
    findings = results(lake, monkeypatch)
    assert findings["graphs"].good is None
    assert "Pages evicted per second" in findings["graphs"].found
    assert findings["alarms on Metrics Insights queries"].expected.startswith("warmbase-shop-lake-server-silent")


def test_the_command_verifies_it_by_name(lake: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of the mocked AWS run no program, so the command says that none answers, and writes its report."""
    monkeypatch.setattr("warmbase.cli.prove.verify.environment_aws", lambda *_: lake.aws)
    answer = CliRunner().invoke(verify, [str(lake.file), "--cluster", LAKE])
    words = " ".join(answer.output.split())
    assert "inspecting 5 core nodes through Systems Manager" in words
    assert "as expected launch" in words
    assert "MISMATCH Systems Manager expected 5 core nodes answer" in words
    assert "unknown port of the coordinator" in words
    assert "differs from the documentation" in str(answer.exception)
    [report] = lake.file.with_suffix(".verified").glob("lake-*.md")
    assert "Trino 476" in report.read_text()
