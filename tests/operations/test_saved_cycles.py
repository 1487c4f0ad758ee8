"""A saved proposal is refused once something has happened that leaves the stacks and the record as they were."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from local_aws.extension import install
from tests.operations.operators import (
    CLAIM,
    ROOT,
    World,
    changed_text,
    checkout,
    deployed_checkout,
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return an environment that was torn down, with a checkout each for A and B."""
    install()
    with mock_aws():
        here, world = deployed_checkout(tmp_path, monkeypatch)
        done = world.run("A", "teardown", "ENV", "blue")
        assert done.code == 0, done.text
        checkout(world, "B", here, changed_text("A"))
        shutil.rmtree(world.file("B").with_suffix(".launch"), ignore_errors=True)
        yield world


def saved(world: World) -> str:
    """Return the file to which A has saved a proposal."""
    file = str(world.directory / "dev.proposal.json")
    done = world.run("A", "deploy", "ENV", "--save", file)
    assert done.code == 0, done.text
    return file


def claim_version(world: World) -> tuple[object, ...]:
    """Return what differs after a write of the claim; S3 states the time to the second, in which several fit."""
    head = world.aws.s3.head_object(Bucket=ROOT, Key=CLAIM)
    return head.get("VersionId"), head["ETag"], head["LastModified"]


@pytest.mark.parametrize("has_claim", [True, False])
@pytest.mark.thorough
def test_a_cluster_that_came_and_went_is_not_launched_again(
    world: World, *, has_claim: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica, and a cluster in mode hdfs, write no claim: EMR alone still lists them."""
    if not has_claim:
        monkeypatch.setattr(World, "write_claim", lambda *_: None)
    file, claim = saved(world), claim_version(world)
    for command in (("deploy", "ENV"), ("teardown", "ENV", "blue")):
        done = world.run("B", *command)
        assert done.code == 0, done.text
    assert has_claim is not (claim_version(world) == claim)
    launches = len(world.launches)
    refused = world.run("A", "deploy", "ENV", "--apply", file)
    assert refused.code == 3, refused.text
    assert "is out of date, so nothing was changed" in refused.text
    assert "last cluster named warmbase-dev-blue: was " in refused.text
    assert len(world.launches) == launches
    assert world.running() == []


def test_protection_that_a_first_deployment_restores_is_proposed(world: World) -> None:
    """The network and the storage are still there after a teardown."""
    before, stack = saved(world), "warmbase-dev-storage"
    world.aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    refused = world.run("A", "deploy", "ENV", "--apply", before)
    assert refused.code == 3, refused.text
    assert f"protection that cluster blue lacks: was none, is termination protection of stack {stack}" in refused.text
    proposed = world.run("A", "deploy", "ENV", "--dry-run")
    assert f"termination protection of stack {stack} is missing" in " ".join(proposed.text.split())
