"""An analytics cluster beside HBase: deployed, recorded, deployed again, tuned, and torn down, on a mocked AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import PROJECT, Cut, synthesised
from tests.operations.mocked_aws import clients, create
from warmbase import app
from warmbase.changes.change import EVERY_ROLE
from warmbase.changes.engine_facet import deployable_clusters
from warmbase.engines.trino import operations
from warmbase.engines.trino.changes import deployable_cluster, differences
from warmbase.engines.trino.rendering import trino_launch_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records
from warmbase.environments.names import stacks_around
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.cluster.drift import cluster_drift
from warmbase.operations.cluster.protection import protect, read_protection
from warmbase.operations.cluster.state import state
from warmbase.operations.deploy.cdk import Assembly
from warmbase.operations.deploy.deployment import proposed
from warmbase.operations.deploy.pinning import check_pinned, pin
from warmbase.operations.deploy.teardown import teardown
from warmbase.operations.deploy.tuning import reconfiguration
from warmbase.stacks.pinned import read_templates

TEXT = (PROJECT / "docs/analytics.yaml").read_text()
LAKE = "lake"


class Shop:
    """The deployed environment of docs/analytics.yaml: a cluster of HBase and one of Trino, both recorded."""

    def __init__(self, aws: Aws, file: Path) -> None:
        self.aws, self.file = aws, file
        file.write_text(TEXT)
        assembly = synthesised(TEXT)
        create(aws, "shop", assembly, read_templates(assembly))
        for name in ("blue", LAKE):
            pin(aws, self.environment, name)
            protect(aws, "shop", name)

    @property
    def environment(self) -> Environment:
        return read_environment(str(self.file))

    def edit(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new, 1))

    def states(self) -> dict[str, str]:
        return {cluster["Name"]: cluster["Status"]["State"] for cluster in self.aws.emr.list_clusters()["Clusters"]}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    install()
    with mock_aws():
        yield Shop(clients(), tmp_path / "shop.yaml")


def test_its_launch_is_recorded_and_confirmed(shop: Shop) -> None:
    record = launch_records(shop.environment)[LAKE]
    assert record.identity.role == "analytics"
    assert record.plan is not None
    assert record.plan.core.instance_type == "i8g.2xlarge"
    pinned = check_pinned(shop.aws, shop.environment, LAKE)
    assert pinned.confirmed > 10
    assert not read_protection(shop.aws, "shop", LAKE).missing


def test_a_changed_file_never_replaces_it(shop: Shop, tmp_path: Path) -> None:
    """The templates keep what the launch decided, whatever the file says by now: nodes, volumes and release."""
    shop.edit("working_set: 2 TiB", "working_set: 9 TiB")
    shop.edit("emr-7.12.0", "emr-7.13.0")
    assembly = app.synthesise(str(shop.file), str(tmp_path / "cdk.out")).assembly
    template = json.loads((assembly / "warmbase-shop-lake-cluster.template.json").read_text())
    [cluster] = [each for each in template["Resources"].values() if each["Type"] == "AWS::EMR::Cluster"]
    assert cluster["Properties"]["ReleaseLabel"] == "emr-7.12.0"
    assert cluster["Properties"]["Instances"]["CoreInstanceGroup"]["InstanceType"] == "i8g.2xlarge"


def test_nothing_is_tuned_where_nothing_changed(shop: Shop) -> None:
    choice = shop.environment.analytics[LAKE]
    tuning = operations.tuning(shop.aws, deployable_cluster(shop.environment, choice.name))
    assert tuning.group_changes == ()


def test_a_changed_plan_is_applied_in_place(shop: Shop) -> None:
    shop.edit("engine: trino", "engine: trino\n    preferred_hosts: 2")
    choice = shop.environment.analytics[LAKE]
    planned = deployable_cluster(shop.environment, choice.name)
    tuning = operations.tuning(shop.aws, planned)
    hosts = next(change for change in tuning.changes if change.key == "fs.cache.preferred-hosts-count")
    assert (hosts.before, hosts.after, hosts.restarts) == ("1", "2", "Trino")
    assert "copy" in hosts.why
    carry_out(list(reconfiguration(shop.aws, tuning)), Cut())
    assert operations.tuning(shop.aws, planned).group_changes == ()


def test_a_deployment_shows_the_price_of_the_workers_that_run_now(shop: Shop, tmp_path: Path) -> None:
    shop.edit("engine: trino", "engine: trino\n    workers: {count: 7}")
    environment = shop.environment
    clusters = deployable_clusters(environment)
    assembly = Assembly(name=str(shop.file), aws=shop.aws, variables={}, directory=tmp_path)
    changes = proposed(assembly, environment, clusters, [])
    worker = (changes.usd_per_month[LAKE] - changes.current_usd_per_month[LAKE]) / 2
    assert changes.current_usd_per_month[LAKE] == pytest.approx(3_504, rel=0.01)
    assert 500 < worker < 700


def test_drift_compares_its_settings_its_stacks_and_its_protection(shop: Shop) -> None:
    choice = shop.environment.analytics[LAKE]
    launch = trino_launch_of(shop.environment, choice)
    drift = cluster_drift(shop.aws, launch)
    assert differences(drift.running.subject, launch, EVERY_ROLE, drift.running.immutable) == ()
    assert {one.subject for one in drift.around} == {"protection", *stacks_around("shop", LAKE)}
    assert all(one.facts and not one.differences for one in drift.around)
    shop.edit("query_time: 60 s", "query_time: 40 s")
    changed = trino_launch_of(shop.environment, shop.environment.analytics[LAKE])
    drift = cluster_drift(shop.aws, changed)
    keys = {one.key for one in differences(drift.running.subject, changed, EVERY_ROLE, drift.running.immutable)}
    assert keys == {"InstanceCount", "query.max-memory"}


def test_status_shows_it_beside_hbase(shop: Shop) -> None:
    clusters = {cluster.name: cluster for cluster in state(shop.aws, shop.environment).clusters}
    assert clusters[LAKE].role == "analytics"
    assert clusters[LAKE].recorded
    assert clusters[LAKE].differences == 0
    assert clusters[LAKE].usd_per_month == pytest.approx(3_504, rel=0.01)
    assert clusters["blue"].role == "active"


def test_its_teardown_touches_neither_root_nor_hbase(shop: Shop) -> None:
    steps = list(teardown(shop.aws, shop.environment, LAKE))
    assert not any("claim" in step.title or "table" in step.title for step in steps)
    carry_out(steps, Cut())
    assert shop.states()["warmbase-shop-lake"] == "TERMINATED"
    assert shop.states()["warmbase-shop-blue"] in {"RUNNING", "WAITING"}
    assert set(launch_records(shop.environment)) == {"blue"}


def test_its_nodes_have_no_access_to_the_root(shop: Shop) -> None:
    templates = read_templates(synthesised(shop.file.read_text()))
    text = json.dumps(templates["warmbase-shop-lake-cluster"])
    assert "shop-lake/tables/*" in text
    statements = [
        statement
        for each in templates["warmbase-shop-lake-cluster"]["Resources"].values()
        if each["Type"] == "AWS::IAM::Policy"
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
    ]
    of_root = {one["Effect"] for one in statements if "warmbase-shop-root" in json.dumps(one)}
    assert of_root == {"Deny"}
    assert "s3:PutObject" in text, "logs are written"
    assert "emrwal" not in text


def test_a_cluster_without_data_is_not_deployed(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(TEXT.replace('    data: ["s3://shop-lake/tables/"]\n', ""))
    with pytest.raises(InvalidInput, match=r"clusters\.lake\.data"):
        app.synthesise(str(file), str(tmp_path / "cdk.out"))


@pytest.mark.parametrize(
    ("root", "data"),
    [
        ("s3://shop-lake/tables/hbase/", "s3://shop-lake/tables/"),
        ("s3://shop-lake/hbase/", "s3://shop-lake/hbase/data/"),
        ("new", "s3://warmbase-shop-root-123456789012-us-east-1/hbase/"),
        ("new", "s3://warmbase-shop-logs-123456789012-us-east-1/"),
    ],
)
def test_the_root_is_no_data_to_read(tmp_path: Path, root: str, data: str) -> None:
    file = tmp_path / "shop.yaml"
    text = TEXT.replace("s3://shop-lake/tables/", data)
    file.write_text(text.replace("\nworkload:", f"\nstorage: {{root: '{root}'}}\nworkload:", 1))
    with pytest.raises(InvalidInput, match="which Trino must not read"):
        read_environment(str(file))


def test_another_catalog_needs_another_cluster(shop: Shop) -> None:
    shop.edit("engine: trino", "engine: trino\n    catalog: iceberg")
    with pytest.raises(InvalidInput, match="was launched with trino-connector-hive"):
        deployable_cluster(shop.environment, LAKE)


def test_a_command_for_hbase_refuses_it_by_name(shop: Shop) -> None:
    with pytest.raises(InvalidInput, match="Trino cluster"):
        chosen_cluster(shop.environment, LAKE)
