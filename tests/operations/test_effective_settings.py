"""`verify` names each property of a server that is neither rendered nor a default, first those that figures rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from moto import mock_aws

from local_aws.emr.steps import HIDDEN, OF_A_CLUSTER
from local_aws.extension import install
from local_aws.server import local_aws
from tests.operations.deployed import deployed
from tests.operations.mocked_aws import clients
from warmbase.configurations.launch import Launch
from warmbase.configurations.properties import CATALOGUE
from warmbase.emr.cluster_spec import flattened
from warmbase.operations.aws.clients import Aws, any_call
from warmbase.operations.on_node.probe_settings import MASK, settings
from warmbase.operations.verify.check import SettingDifference
from warmbase.operations.verify.probe import is_same, read_effective_settings, setting_differences, settings_in_force

SITE = {"Classification": "hbase-site", "Properties": {"hbase.hstore.blockingStoreFiles": "16"}}
ROLES: Any = {"ReleaseLabel": "emr-7.14.0", "JobFlowRole": "nodes", "ServiceRole": "service"}
PAGE = Path(__file__).parent / "server_pages" / "regionserver.xml"
KEYS = {key for file, key in CATALOGUE if file in {"core-site", "hdfs-site", "hbase-site"}}


class Running(NamedTuple):
    """A cluster that runs; its launch is planned once."""

    launch: Launch
    aws: Aws


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    install()
    with mock_aws():
        here = deployed(clients(), tmp_path_factory.mktemp("settings"))
        yield Running(here.launch, here.aws)


def in_force(here: Running, more: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what a RegionServer of the launch has: `more` below what is rendered."""
    core = here.launch.settings.effective("core")
    rendered = {key: value for file, key, value in flattened(core) if file in {"core-site", "hdfs-site", "hbase-site"}}
    account = here.aws.account
    entries = {key: here.launch.environment.in_account(value, account) for key, value in {**more, **rendered}.items()}
    return {key: [value, "hbase-site.xml"] for key, value in entries.items()}


def differences(here: Running, has: Mapping[str, list[str]]) -> dict[str, SettingDifference]:
    effective = {"RegionServer": {"i-1": has, "i-2": None}}
    return {one.key: one for one in setting_differences(here.launch, here.aws.account, effective)}  # type: ignore[arg-type]


def test_rendered_properties_and_defaults_are_no_differences(here: Running) -> None:
    assert differences(here, in_force(here, {"hbase.hregion.majorcompaction.jitter": "0.5"})) == {}


def test_every_hidden_default_of_emr_is_named_unless_it_is_rendered(here: Running) -> None:
    has = in_force(here, {**HIDDEN, **OF_A_CLUSTER})
    named = differences(here, has)
    rendered = in_force(here, {})
    upstream = {"hbase.regionserver.handler.count", "hbase.balancer.tablesOnMaster"}
    aliases = {"hbase.hstore.compactionThreshold"} if "hbase.hstore.compaction.min" in rendered else set()
    expected = {key for key in HIDDEN if key not in rendered} - upstream - aliases
    assert expected <= named.keys()
    assert named.keys() - {*HIDDEN, *OF_A_CLUSTER} == set()
    assert {named[key].rank for key in OF_A_CLUSTER} == {"expected"}


def test_the_figures_that_a_compaction_threshold_of_8_changes_are_named_first(here: Running) -> None:
    has = in_force(here, {**HIDDEN, "hbase.no.such.key": "1"})
    del has["hbase.hstore.blockingStoreFiles"]
    has |= {"hbase.hstore.blockingStoreFiles": ["20", "hbase-site.xml"]}
    has |= {"hbase.hstore.compactionThreshold": ["8", "hbase-site.xml"]}
    has.pop("hbase.hstore.compaction.min", None)
    named = differences(here, has)
    threshold = named["hbase.hstore.compactionThreshold"]
    assert (threshold.rank, threshold.value, threshold.expected) == ("figure", "8", "3")
    assert "a store has +1.7 files" in threshold.effects[-1]
    assert "(not 3; 1 x RegionServer, hbase-site.xml)" in threshold.text
    blocking = named["hbase.hstore.blockingStoreFiles"]
    assert (blocking.rank, blocking.expected) == ("figure", "16")
    assert blocking.effects[0] == "the plan's figure writes.settings.blocking_store_files is 16"
    ranks = [one.rank for one in named.values()]
    assert ranks == sorted(ranks, key=["figure", "operation", "other", "expected"].index)
    for key in ("hbase.no.such.key", "hbase.master.startup.retainassign"):
        assert named[key].rank == "other"
        assert "reads such a key" in named[key].effects[0], "HBase 1 had the second"
    assert named["hbase.balancer.tablesOnMaster"].rank == "other", "only a master reads it"
    assert threshold.instances == ("i-1",)


def test_a_value_that_the_calculator_takes_shows_what_the_plan_is_with_it(here: Running) -> None:
    has = in_force(here, {}) | {"hbase.regionserver.handler.count": ["2", "hbase-site.xml"]}
    effects = " ".join(differences(here, has)["hbase.regionserver.handler.count"].effects)
    assert "handlers" in effects
    assert "-> 2" in effects or "the plan fails" in effects


def test_the_old_name_of_a_key_counts_only_without_the_current_one(here: Running) -> None:
    has = in_force(here, {}) | {
        "hbase.hstore.compactionThreshold": ["8", "hbase-site.xml"],
        "hbase.hstore.compaction.min": ["3", "hbase-site.xml"],
    }
    assert differences(here, has) == {}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("true", "TRUE", True),
        ("5.0F", "5.0", True),
        ("64k", "65536", True),
        ("500ms", "500", True),
        ("30s", "30000", True),
        ("5m", "300000", True),
        ("2h", "7200000", True),
        ("7d", "604800000", True),
        ("1t", "1099511627776", True),
        ("128M", "134217728", True),
        ("a, b", "a,b", True),
        ("${hbase.tmp.dir}/local/", "${hbase.tmp.dir}/local/", True),
        ("org.apache.Alph...", "org.apache.Alpha,org.apache.Beta", True),
        ("64k", "64", False),
        ("30s", "30", False),
        ("false", "true", False),
        ("a,b", "b,a", False),
    ],
)
def test_another_spelling_is_no_difference(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a table
    assert is_same(one, other) is same


def test_a_page_of_a_real_server_gives_values_with_their_source_and_no_secret() -> None:
    has = settings(PAGE.read_bytes(), KEYS)
    assert has is not None
    assert has["hbase.hstore.blockingStoreFiles"] == ["16", "hbase-site.xml"]
    assert has["hbase.client.retries.number"] == ["24", "programmatically"]
    assert [key for key, (_, source) in has.items() if source.endswith("-default.xml") and key not in KEYS] == []
    assert has["fs.s3a.access.key"][0] == has["fs.s3a.secret.key"][0] == MASK
    assert settings(None, KEYS) is None
    assert settings(b"<html>", KEYS) is None


def test_defaults_of_a_real_server_are_those_of_the_table(here: Running) -> None:
    """Each difference of the lab's server is set by its overlay or by itself, and none by a default file."""
    has = settings(PAGE.read_bytes(), KEYS) or {}
    rendered = in_force(here, {})
    unrendered = [one for one in differences(here, has).values() if one.key not in rendered]
    assert {one.source for one in unrendered} == {"hbase-site.xml", "programmatically"}


@pytest.mark.parametrize(
    ("more", "verdicts"),
    [
        ({}, [True, True, True, True]),
        ({"hbase.hstore.compactionThreshold": "8"}, [False, True, True, True]),
        ({"hbase.no.such.key": "1", **OF_A_CLUSTER}, [True, True, None, True]),
    ],
)
def test_only_a_property_that_something_depends_on_is_a_mismatch(
    more: Mapping[str, str], verdicts: list[bool | None], here: Running
) -> None:
    has = in_force(here, {}) | {key: [value, "hbase-site.xml"] for key, value in more.items()}
    if "hbase.hstore.compactionThreshold" in more:
        has.pop("hbase.hstore.compaction.min", None)
    context: Any = SimpleNamespace(
        launch=here.launch, aws=here.aws, effective={"RegionServer": {"i-1": has}, "master": {"i-0": {}}}
    )
    results = list(settings_in_force(context))
    assert [result.good for result in results] == verdicts
    assert {one.key for result in results for one in result.settings} == more.keys()


OF_A_FILE = "hbase-site.xml"


@pytest.mark.parametrize(
    ("server", "setting", "source", "rank"),
    [
        ("RegionServer", "hbase.wal.hsync=true", OF_A_FILE, "figure"),
        ("RegionServer", "hbase.wal.hsync=true", "programmatically", "expected"),
        ("RegionServer", "hbase.rs.cachecompactedblocksonwrite=false", OF_A_FILE, "operation"),
        ("RegionServer", "hbase.bucketcache.persistent.path=/mnt/index", OF_A_FILE, "operation"),
        ("master", "hbase.balancer.period=60000", OF_A_FILE, "operation"),
        ("RegionServer", "hbase.hregion.majorcompaction.jitter=0.9", OF_A_FILE, "operation"),
        ("RegionServer", "hbase.balancer.period=60000", OF_A_FILE, "other"),
        ("RegionServer", "hbase.no.such.key=1", OF_A_FILE, "other"),
        ("RegionServer", "hbase.no.such.key=1", "programmatically", "expected"),
        ("RegionServer", "dfs.nameservices=emr", OF_A_FILE, "expected"),
    ],
)
def test_a_rank_is_decided_by_what_depends_on_the_key_and_by_who_set_it(
    server: str, setting: str, source: str, rank: str, here: Running
) -> None:
    """A server that sets a property itself is no fault of anybody, whatever depends on the property."""
    key, _, value = setting.partition("=")
    effective: Any = {server: {"i-1": {key: [value, source]}}}
    [one] = setting_differences(here.launch, here.aws.account, effective)
    assert (one.server, one.key, one.rank) == (server, key, rank)


@pytest.mark.parametrize("server", ["RegionServer", "yarn"], ids=["one of two servers is silent", "all of them are"])
def test_a_server_that_does_not_answer_is_unknown(server: str, here: Running) -> None:
    more: dict[str, Any] = {"master": {"i-0": {}}} if server == "RegionServer" else {}
    nodes = {"i-1": in_force(here, {}), "i-2": None} if more else {"i-1": {}}
    context: Any = SimpleNamespace(launch=here.launch, aws=here.aws, effective={server: nodes, **more})
    assert [result.good for result in settings_in_force(context)] == [None] * 4


@pytest.mark.thorough
def test_the_local_aws_plays_defaults_of_emr_below_what_is_rendered() -> None:
    with local_aws() as local:
        aws = Aws(local.environment, any_call)
        groups: Any = [
            {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1},
            {"InstanceRole": "CORE", "InstanceType": "m8g.xlarge", "InstanceCount": 2, "Configurations": [SITE]},
        ]
        tags: Any = [{"Key": "local-aws:emr-defaults", "Value": "merge"}]
        instances: Any = {"KeepJobFlowAliveWhenNoSteps": True, "InstanceGroups": groups}
        cluster = aws.emr.run_job_flow(Name="c", Instances=instances, Tags=tags, **ROLES)["JobFlowId"]
        effective = read_effective_settings(aws, cluster, lambda _: None)
    assert [len(effective[server]) for server in ("RegionServer", "master")] == [2, 1]
    for has in effective["RegionServer"].values():
        assert has is not None
        assert has["hbase.hstore.blockingStoreFiles"] == ["16", "hbase-site.xml"], "rendered"
        assert has["hbase.hstore.compactionThreshold"] == ["8", "hbase-site.xml"], "of EMR"
    assert set(effective["yarn"].values()) == {None}
