"""Each difference has its impact, and all of them together have a cost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warmbase.changes.change import Change, changes, is_equivalent
from warmbase.changes.cost import SIZE, ImpactCost, impact_cost
from warmbase.configurations.launch import Launch, planned_spec
from warmbase.configurations.properties import CATALOGUE
from warmbase.configurations.properties.property import Applied
from warmbase.emr.api import write_run_job_flow
from warmbase.emr.cluster_spec import flattened
from warmbase.facts.prices import price_table
from warmbase.facts.releases import releases
from warmbase.ground.units import HOURS_PER_MONTH, MIB
from warmbase.linter.reader import read_subject
from warmbase.sizing.server.region_server import GET_BYTES

Launches = Callable[[str], Launch]
Edit = Callable[[dict[str, Any]], None]


def group(document: dict[str, Any], role: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        instance_group
        for instance_group in document["Instances"]["InstanceGroups"]
        if instance_group["InstanceRole"] == role
    )
    return found


def setting(role: str, classification: str, key: str, value: str | None) -> Edit:
    """Sets a property of a group, or takes it away."""

    def edit(document: dict[str, Any]) -> None:
        [properties] = [
            configuration["Properties"]
            for configuration in group(document, role)["Configurations"]
            if configuration["Classification"] == classification
        ]
        if value is None:
            del properties[key]
        else:
            properties[key] = value

    return edit


def before(launch: Launch, path: Path, *edits: Edit) -> tuple[tuple[Change, ...], ImpactCost]:
    """Return what the launch would change in a cluster that was rendered with the edits."""
    document = write_run_job_flow(planned_spec(launch))
    for edit in edits:
        edit(document)
    file = path / "before.json"
    file.write_text(json.dumps(document))
    subject = read_subject(file, None)
    found = changes(subject, planned_spec(launch), ("primary", "core"), releases()[launch.plan.release])
    return found, impact_cost(found, subject, launch.plan, price_table("us-east-1"))


def test_a_rendering_does_not_differ_from_its_own_plan(launches: Launches, tmp_path: Path) -> None:
    found, cost = before(launches("prod"), tmp_path)
    assert found == ()
    assert (cost.applied, cost.restart_seconds, cost.cache_lost_bytes, cost.usd) == (None, 0, 0, 0)


def shuffled(document: dict[str, Any]) -> None:
    for instance_group in document["Instances"]["InstanceGroups"]:
        random.Random(7).shuffle(instance_group["Configurations"])
        for classification in instance_group["Configurations"]:
            pairs = list(classification["Properties"].items())[::-1]
            classification["Properties"] = dict(pairs)
    document["Instances"]["InstanceGroups"].reverse()


def respelt(document: dict[str, Any]) -> None:
    site = next(
        configuration["Properties"]
        for configuration in group(document, "CORE")["Configurations"]
        if configuration["Classification"] == "hbase-site"
    )
    site["hbase.bucketcache.bucket.sizes"] = ", ".join(reversed(site["hbase.bucketcache.bucket.sizes"].split(",")))
    site["hfile.block.cache.size"] += "0"
    site["hbase.rs.prefetchblocksonopen"] = " TRUE "
    site["hbase.rootdir"] = site["hbase.rootdir"].replace("${AWS::AccountId}", "111122223333")


@pytest.mark.parametrize("edit", [shuffled, respelt])
def test_order_and_spelling_are_no_differences(edit: Edit, launches: Launches, tmp_path: Path) -> None:
    found, _ = before(launches("prod"), tmp_path, edit)
    assert found == ()


LIVE = setting("CORE", "hbase-site", "hbase.rs.cacheblocksonwrite", "false")
RESTART = setting("CORE", "hbase-site", "hbase.regionserver.handler.count", "25")
OF_MASTERS = setting("MASTER", "hbase-site", "hbase.master.scp.retain.assignment.force.retries", "10")
OF_HDFS = setting("CORE", "hdfs-site", "dfs.replication", "3")
EMPTIES = setting("CORE", "hbase-site", "hbase.bucketcache.size", "409600")
UNKNOWN = setting("CORE", "hbase-site", "com.example.cache", "7")
NOT_KEPT = setting("CORE", "hbase-site", "hbase.bucketcache.persistent.path", None)


def older_release(document: dict[str, Any]) -> None:
    document["ReleaseLabel"] = "emr-7.11.0"


def another_root(document: dict[str, Any]) -> None:
    groups = document["Instances"]["InstanceGroups"]
    for level in (document["Configurations"], *(instance_group["Configurations"] for instance_group in groups)):
        for configuration in level:
            if "hbase.rootdir" in configuration["Properties"]:
                configuration["Properties"]["hbase.rootdir"] = "s3://elsewhere/hbase/"


def fewer_nodes(document: dict[str, Any]) -> None:
    group(document, "CORE")["InstanceCount"] -= 1


def more_nodes(document: dict[str, Any]) -> None:
    group(document, "CORE")["InstanceCount"] += 3


def managed(document: dict[str, Any]) -> None:
    document["ManagedScalingPolicy"] = {"ComputeLimits": {"UnitType": "Instances"}}


def with_tasks(document: dict[str, Any]) -> None:
    document["Instances"]["InstanceGroups"].append(
        {"InstanceRole": "TASK", "InstanceType": "r8g.xlarge", "InstanceCount": 2}
    )


def another_bean(document: dict[str, Any]) -> None:
    [metrics] = [
        configuration
        for configuration in group(document, "CORE")["Configurations"]
        if configuration["Classification"] == "emr-metrics"
    ]
    metrics["Configurations"][0]["Properties"]["Hadoop:service=HBase,name=RegionServer,sub=WAL"] = "appendCount"


def size_not_known(document: dict[str, Any]) -> None:
    older_release(document)
    setting("CORE", "hbase-site", "hbase.bucketcache.size", "<your-cache-size>")(document)


def smaller_volume(document: dict[str, Any]) -> None:
    device = group(document, "CORE")["EbsConfiguration"]["EbsBlockDeviceConfigs"][0]
    device["VolumeSpecification"]["SizeInGB"] = 500


def one_primary(document: dict[str, Any]) -> None:
    assert group(document, "MASTER")["InstanceCount"] == 3
    group(document, "MASTER")["InstanceCount"] = 1


def another_type(document: dict[str, Any]) -> None:
    group(document, "CORE")["InstanceType"] = "r8g.2xlarge"


def three_primaries(document: dict[str, Any]) -> None:
    group(document, "MASTER")["InstanceCount"] = 3 if group(document, "MASTER")["InstanceCount"] == 1 else 1


CACHE_OF_MASTERS = setting("MASTER", "hbase-site", "hbase.bucketcache.size", "409600")

KINDS = [
    # edit, key, applied, restarts, empties the cache
    (LIVE, "hbase.rs.cacheblocksonwrite", Applied.LIVE, "", False),
    (fewer_nodes, "InstanceCount", Applied.LIVE, "", False),
    (more_nodes, "InstanceCount", Applied.LIVE, "", False),
    (managed, "ManagedScalingPolicy", Applied.LIVE, "", False),
    (with_tasks, "TaskInstanceGroups", Applied.LIVE, "", False),
    (another_bean, "Hadoop:service=HBase,name=RegionServer,sub=WAL", Applied.LIVE, "", False),
    (RESTART, "hbase.regionserver.handler.count", Applied.ROLLING_RESTART, "HBase", False),
    (OF_MASTERS, "hbase.master.scp.retain.assignment.force.retries", Applied.ROLLING_RESTART, "HBase", False),
    (OF_HDFS, "dfs.replication", Applied.ROLLING_RESTART, "HDFS", False),
    (UNKNOWN, "com.example.cache", Applied.ROLLING_RESTART, "HBase", False),
    (EMPTIES, "hbase.bucketcache.size", Applied.ROLLING_RESTART, "HBase", True),
    (CACHE_OF_MASTERS, "hbase.bucketcache.size", Applied.ROLLING_RESTART, "HBase", False),
    (three_primaries, "InstanceCount", Applied.NEW_CLUSTER, "", True),
    (older_release, "ReleaseLabel", Applied.NEW_CLUSTER, "", True),
    (another_root, "hbase.rootdir", Applied.NEW_CLUSTER, "", True),
    (smaller_volume, "EbsConfiguration", Applied.NEW_CLUSTER, "", True),
    (another_type, "InstanceType", Applied.NEW_CLUSTER, "", True),
    (one_primary, "InstanceCount", Applied.NEW_CLUSTER, "", True),
]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [(edit, expected) for edit, *expected in KINDS],
    ids=[f"{kind[1]}-{kind[2]}" for kind in KINDS],
)
def test_each_difference_says_how_it_is_applied(
    edit: Edit, expected: list[object], launches: Launches, tmp_path: Path
) -> None:
    [found], _ = before(launches("prod"), tmp_path, edit)
    assert [found.key, found.applied, found.restarts, found.empties_cache] == expected


def test_a_change_of_both_groups_is_one_line(launches: Launches, tmp_path: Path) -> None:
    policy = "fs.s3a.experimental.input.fadvise"
    edits = [setting(role, "hbase-site", policy, "random") for role in ("MASTER", "CORE")]
    [found], _ = before(launches("prod"), tmp_path, *edits)
    assert found.groups == ("primary", "core")


COSTS = [
    # edits, restart of the RegionServers, and the lost caches: of all core nodes or none, and of so many other nodes
    ([LIVE], None, (0, 0)),
    ([OF_MASTERS], None, (0, 0)),
    ([OF_HDFS], None, (0, 0)),
    ([RESTART], "warm", (0, 0)),
    ([RESTART, UNKNOWN, LIVE], "warm", (0, 0)),
    ([EMPTIES], "cold", (1, 0)),
    ([NOT_KEPT], "cold", (1, 0)),
    ([more_nodes], None, (0, 3)),
    ([EMPTIES, more_nodes], "cold", (1, 3)),
    ([RESTART, more_nodes], "warm", (0, 3)),
    ([with_tasks], None, (0, 2)),
    *(([setting("CORE", "hbase-site", SIZE, size)], "cold", None) for size in ("0.4", "-5", "1e400")),
]


@pytest.mark.parametrize(("edits", "restart", "lost"), COSTS)
def test_the_cost_is_one_restart_the_lost_caches_and_the_gets_that_fill_them(
    edits: list[Edit], restart: str | None, lost: tuple[int, int] | None, launches: Launches, tmp_path: Path
) -> None:
    plan = launches("prod").plan
    _, cost = before(launches("prod"), tmp_path, *edits)
    is_cold, nodes = restart == "cold", plan.core.count
    seconds = plan.restart.seconds - (plan.restart.restore_seconds if is_cold else 0)
    assert cost.restart_seconds == pytest.approx(nodes * seconds if restart else 0)
    size_bytes = 409_600 * MIB if EMPTIES in edits else plan.cache.size_bytes
    assert cost.cache_lost_bytes == (None if lost is None else size_bytes * (lost[0] * nodes + lost[1]))
    assert cost.warm_up_seconds == (plan.warm_up.prefetch_seconds if is_cold else 0)
    gets = plan.cache.size_bytes * nodes / GET_BYTES
    assert cost.usd == pytest.approx(gets * price_table("us-east-1").usd("s3-get") if is_cold else 0)


def test_a_cache_of_a_size_that_is_not_stated_is_not_said_to_be_kept(launches: Launches, tmp_path: Path) -> None:
    _, cost = before(launches("prod"), tmp_path, size_not_known)
    assert cost.cache_lost_bytes is None


def test_fleets_are_another_cluster(launches: Launches, tmp_path: Path) -> None:
    launch = launches("prod")
    file = tmp_path / "fleets.json"
    fleets = {"InstanceFleets": [{"InstanceFleetType": "CORE", "TargetOnDemandCapacity": 3}]}
    file.write_text(json.dumps({"ReleaseLabel": launch.plan.release, "Instances": fleets}))
    found = changes(read_subject(file, None), planned_spec(launch), (), releases()[launch.plan.release])
    assert [(change.key, change.applied) for change in found] == [("InstanceFleets", Applied.NEW_CLUSTER)]


SECRET_KEYS = ["fs.s3a.secret.key", "fs.s3a.sercet.key", "fs.s3a.encryption.key", "fs.azure.account.key.x", "a.passwd"]


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_no_credential_is_shown(key: str, launches: Launches, tmp_path: Path) -> None:
    found, _ = before(launches("prod"), tmp_path, setting("CORE", "hbase-site", key, "wJalrXUtnFEMI"))
    assert "wJalrXUtnFEMI" not in str(found)


def test_a_new_cluster_runs_beside_the_old_one_until_it_is_warm(launches: Launches, tmp_path: Path) -> None:
    launch = launches("prod")
    _, cost = before(launch, tmp_path, older_release, RESTART)
    nodes = sum(line.usd_per_month for line in launch.plan.cost.lines if line.item.startswith(("core ", "primary ")))
    assert cost.applied is Applied.NEW_CLUSTER
    assert cost.restart_seconds == 0
    assert cost.node_usd == pytest.approx(nodes / HOURS_PER_MONTH * launch.plan.warm_up.prefetch_seconds / 3600)
    assert cost.usd == cost.node_usd + cost.get_usd


def test_an_hbase_site_alone_is_compared_with_hbase_site_alone(launches: Launches, tmp_path: Path) -> None:
    launch = launches("prod")
    site = {key: value for path, key, value in flattened(launch.settings.effective("core")) if path == "hbase-site"}
    body = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in site.items())
    file = tmp_path / "hbase-site.xml"
    file.write_text(f"<configuration>{body}</configuration>")
    release = releases()[launch.plan.release]
    assert changes(read_subject(file, None), planned_spec(launch), ("core",), release) == ()


SAME = [
    ("hbase-site", "hbase.bucketcache.size", "1024", "1024.0"),
    ("hbase-site", "hbase.bucketcache.bucket.sizes", "5120,9216", "9216, 5120"),
    ("hbase-env/export", "HBASE_REGIONSERVER_OPTS", '"-Xms1g  -Xmx1g"', '"-Xms1g -Xmx1g"'),
    ("hbase-site", "hbase.rs.evictblocksonclose", "False", "false"),
]
DIFFERENT = [
    ("hbase-site", "hbase.bucketcache.ioengine", "files:/a,/b", "files:/b,/a"),
    ("hbase-env/export", "HBASE_REGIONSERVER_OPTS", '"-Xms1g -Xmx1g"', '"-Xmx1g -Xms1g"'),
    ("hbase-site", "com.example.list", "a,b", "b,a"),
    ("hbase-site", "hbase.bucketcache.size", "1024", "<your-cache-size>"),
]


@pytest.mark.parametrize(("classification", "key", "one", "other"), [*SAME, *DIFFERENT])
def test_another_spelling_is_equivalent_and_another_meaning_is_not(
    classification: str, key: str, one: str, other: str
) -> None:
    same = (classification, key, one, other) in SAME
    assert is_equivalent(CATALOGUE.get((classification, key)), one, other) == same
