"""A deployment over a root that another tool writes to is refused, wherever that tool states its root."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tests.operations.deployed import Deployed
from tests.operations.other_clusters import other_cluster, problems
from warmbase.operations.cluster.claims import claim_of, release, writers, writes_to

BUCKET = "warmbase-dev-root-123456789012-us-east-1"
ROOT, REPLICA = "hbase.rootdir", "hbase.emr.readreplica.enabled"


@pytest.fixture
def torn_down(here: Deployed) -> Deployed:
    """Return the environment after a teardown: no cluster runs, and the claim is released."""
    own = here.cluster_id
    here.aws.ssm.delete_parameter(Name="/warmbase/dev/blue/cluster-id")
    here.aws.emr.set_termination_protection(JobFlowIds=[own], TerminationProtected=False)
    here.aws.emr.terminate_job_flows(JobFlowIds=[own])
    release(here.aws, here.environment, claim_of(here.aws, here.environment.root))
    assert problems(here) == []
    return here


@pytest.mark.parametrize(
    ("cluster", "core", "writes"),
    [
        ({ROOT: f"s3://{BUCKET}/hbase/"}, {}, True),
        ({ROOT: f"s3://{BUCKET}/hbase"}, {}, True),
        ({ROOT: f"s3://{BUCKET}/hbase/deeper/"}, {}, True),
        ({ROOT: f"s3://{BUCKET}/"}, {}, True),
        ({ROOT: f"s3a://{BUCKET}/hbase/"}, {}, True),
        ({ROOT: f"S3N://{BUCKET}//hbase/./"}, {}, True),
        ({}, {ROOT: f"s3a://{BUCKET}/hbase/"}, True),
        ({ROOT: "hdfs:///hbase"}, {ROOT: f"s3://{BUCKET}/hbase/"}, True),
        ({ROOT: f"s3://{BUCKET}/hbase/", REPLICA: "true"}, {REPLICA: "false"}, True),
        ({ROOT: f"s3://{BUCKET}/hbase2/"}, {}, False),
        ({ROOT: "s3://other/hbase/"}, {ROOT: "s3a://others/hbase/"}, False),
        ({ROOT: f"hdfs://{BUCKET}/hbase/"}, {}, False),
        ({ROOT: f"s3://{BUCKET}/hbase/", REPLICA: "true"}, {}, False),
    ],
)
def test_a_writer_of_another_tool_is_found_by_its_root(
    here: Deployed, cluster: Mapping[str, str], core: Mapping[str, str], *, writes: bool
) -> None:
    other = other_cluster(here.aws, cluster, core=core)
    listed = list(writers(here.aws, here.environment.root, here.cluster_id))
    assert [text.startswith(f"{other} (by another tool), ") for text in listed] == [True] * writes
    assert ("other writers" in problems(here)) == writes


@pytest.mark.parametrize("primary", ["true", "false"])
def test_a_replica_whose_groups_say_so_is_no_writer(here: Deployed, primary: str) -> None:
    site = {ROOT: f"s3://{BUCKET}/hbase/"}
    other = other_cluster(here.aws, site, primary={REPLICA: primary}, core={REPLICA: "true"})
    assert writes_to(here.aws, other, here.environment.root) == (primary == "false")


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_writer_with_instance_fleets_is_found(here: Deployed, scheme: str) -> None:
    """The local AWS has no fleets, so this is EMR's answer by its API reference."""
    site = {"Classification": "hbase-site", "Properties": {ROOT: f"{scheme}://{BUCKET}/hbase"}}
    fleet = {"InstanceTypeSpecifications": [{"InstanceType": "r8g.xlarge", "Configurations": [site]}]}
    emr: Any = SimpleNamespace(
        describe_cluster=lambda **_: {"Cluster": {"InstanceCollectionType": "INSTANCE_FLEET"}},
        get_paginator=lambda _: SimpleNamespace(paginate=lambda **_: [{"InstanceFleets": [fleet]}]),
    )
    aws: Any = SimpleNamespace(emr=emr, account=here.aws.account)
    assert writes_to(aws, "j-FLEETS", here.environment.root)


def test_a_writer_by_s3a_on_its_core_group_stops_the_deployment_after_a_teardown(torn_down: Deployed) -> None:
    other_cluster(torn_down.aws, {}, core={ROOT: f"s3a://{BUCKET}/hbase/"})
    assert problems(torn_down) == ["other writers"]


def put(here: Deployed, name: str, content: bytes) -> None:
    here.aws.s3.put_object(Bucket=BUCKET, Key=f"hbase/{name}", Body=content)


def test_a_writer_that_emr_does_not_list_is_found_by_its_files(torn_down: Deployed) -> None:
    """Its account or region is another; it wrote after the claim was released."""
    put(torn_down, "data/hbase/meta_j-1/1588230740/info/replica", b"of a replica")
    assert problems(torn_down) == []
    time.sleep(1.1)  # S3 states whole seconds
    put(torn_down, "data/hbase/meta/1588230740/info/flushed", b"of a writer")
    assert problems(torn_down) == ["writes without a claim"]
    release(torn_down.aws, torn_down.environment, claim_of(torn_down.aws, torn_down.environment.root))
    assert problems(torn_down) == []


@pytest.mark.thorough
def test_a_fresh_file_is_found_behind_a_page_of_old_ones(torn_down: Deployed) -> None:
    """S3 returns at most a thousand files in one answer, in the order of their names."""
    for number in range(1_001):
        put(torn_down, f"data/hbase/meta/1588230740/info/{number:04}", b"")
    release(torn_down.aws, torn_down.environment, claim_of(torn_down.aws, torn_down.environment.root))
    time.sleep(1.1)  # S3 states whole seconds
    put(torn_down, "data/hbase/meta/1588230740/info/flushed", b"of a writer")
    assert problems(torn_down) == ["writes without a claim"]


def message(*texts: str) -> bytes:
    """Return the bytes that HBase writes for these strings."""
    return b"PBUF" + b"".join(
        bytes((number << 3 | 2, len(text))) + text.encode() for number, text in enumerate(texts, 1)
    )


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        (message("11111111-2222", "replica1"), True),
        (message("99999999-2222", ""), True),
        (message("11111111-2222", ""), False),
        (message("11111111-2222"), False),
        (b"replica1", True),
        (b"", True),
    ],
)
def test_the_active_cluster_of_open_hbase_is_respected(torn_down: Deployed, content: bytes, *, refused: bool) -> None:
    put(torn_down, "hbase.id", message("11111111-2222"))
    put(torn_down, "active.cluster.suffix.id", content)
    assert problems(torn_down) == ["active cluster of HBase"] * refused
