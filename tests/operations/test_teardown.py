"""A teardown goes by the launch record and not by today's file, and refuses to begin without one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from moto import mock_aws
from moto.cloudformation.models import cloudformation_backends

from local_aws.extension import install
from operations.cluster_step import PrimaryShell
from operations.teardown import destruction, recorded_cluster, teardown
from operations.teardown_steps import check_log
from sizing.problem import InvalidInput, Refused
from tests.operations.deployed import Deployed, deployed, record_of_another
from tests.operations.mocked_aws import clients


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Deployed]:
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path)


def begun(here: Deployed) -> list[str]:
    return [step.title for step in teardown(here.aws, here.environment, "blue", None)]


def test_an_active_cluster_is_flushed_before_it_ends(here: Deployed) -> None:
    assert begun(here)[:5] == [
        "disable every table",
        "flush hbase:meta and hbase:namespace",
        "disable the notifications of its alarms",
        "stop HBase",
        "check that the write-ahead log is empty",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  blue:", "  green: {role: active, primaries: 1}\n  blue:\n    role: replica"),
        ("clusters:", "storage: {wal: emr-wal}\nclusters:"),
        ("clusters:", "storage: {mode: s3-plain}\nclusters:"),
        ("clusters:", "storage: {root: s3://elsewhere/hbase/}\nclusters:"),
    ],
)
def test_a_file_that_says_otherwise_by_now_is_not_gone_by(here: Deployed, old: str, new: str) -> None:
    here.edit(old, new)
    with pytest.raises(InvalidInput, match="cannot be changed on a running cluster"):
        begun(here)


def test_without_a_record_nothing_that_runs_is_ended(here: Deployed) -> None:
    shutil.rmtree(here.file.with_suffix(".launch"))
    with pytest.raises(Refused, match=r"cluster blue  runs as j-\w+, and has no launch record(.|\n)*warmbase pin dev"):
        begun(here)


def test_a_record_of_another_cluster_is_not_gone_by(here: Deployed) -> None:
    runs = record_of_another(here)
    with pytest.raises(Refused, match=rf"runs as {runs}, and its launch record is of j-OTHER(.|\n)*warmbase pin dev"):
        begun(here)


def test_the_cluster_is_known_by_its_stack_and_without_one_by_its_record(here: Deployed) -> None:
    own = here.cluster_id
    here.aws.ssm.delete_parameter(Name="/warmbase/dev/blue/cluster-id")
    assert recorded_cluster(here.aws, here.environment, "blue") == (own, "WAITING")
    with pytest.raises(Refused, match=f"cluster blue  is running: {own} is WAITING"):
        list(destruction(here.aws, here.environment))


def test_while_a_stack_is_being_made_nobody_says_that_there_is_no_cluster(here: Deployed) -> None:
    stacks = cloudformation_backends["123456789012"]["us-east-1"].stacks.values()
    [stack] = [each for each in stacks if each.name == "warmbase-dev-blue-cluster"]
    stack.status = "CREATE_IN_PROGRESS"
    with pytest.raises(Refused, match="the id of its cluster is not known yet"):
        begun(here)


def test_clusters_that_the_file_no_longer_has_are_not_left_without_their_network(here: Deployed) -> None:
    shutil.rmtree(here.file.with_suffix(".launch"))
    here.edit("  blue:", "  green:")
    with pytest.raises(Refused, match="does not list clusters that are deployed: warmbase-dev-blue-cluster"):
        list(destruction(here.aws, here.environment))


def test_hdfs_is_not_torn_down_without_an_export(tmp_path: Path) -> None:
    install()
    with mock_aws():
        hdfs = deployed(clients(), tmp_path, "storage: {mode: hdfs}\n")
        with pytest.raises(Refused, match="has the only copy of the data") as refused:
            list(teardown(hdfs.aws, hdfs.environment, "blue", None))
        assert "--exported s3://" in refused.value.problems[0].fix
        assert list(teardown(hdfs.aws, hdfs.environment, "blue", "s3://our-backups/hbase/"))


class Primary:
    """A primary node that gives one answer to every program."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    def run(self, *_: object) -> dict[str, Any]:
        return self.answer


def test_a_log_with_edits_is_not_given_up() -> None:
    log = {"down": True, "directory": "/user/hbase/WAL"}
    with pytest.raises(Refused, match="/user/hbase/WAL  is not empty: it holds s1"):
        check_log(cast("PrimaryShell", Primary(**log, files=["s1"])), print)
    with pytest.raises(Refused, match="is running again after it was stopped"):
        check_log(cast("PrimaryShell", Primary(**log | {"down": False}, files=[])), print)
    assert check_log(cast("PrimaryShell", Primary(**log, files=[])), print)
