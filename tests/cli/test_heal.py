"""`warmbase heal` shows its moves and what they gain, asks, holds the lock, and does nothing if no move pays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.operations.deployed import Deployed
from tests.operations.test_cache_heal import QUICK, HealModel, user_regions
from warmbase.cli.operate import heal as command
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.hbase.cache_heal import Heal
from warmbase.operations.hbase.heal import refuse_unhealable


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> HealModel:
    """An HBase in memory in place of the cluster's; the clients are those of this process."""
    model = HealModel()
    healer = Heal(hbase=model, journals=model.journals, patience=QUICK)
    monkeypatch.setattr(command, "environment_heal", lambda *_: healer)
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    return model


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command.heal, [str(here.file), *options])


def test_the_proposal_counts_moves_bytes_and_gets_and_changes_nothing(here: Deployed, model: HealModel) -> None:
    result = run(here, "--dry-run")
    assert result.exit_code == 0, result.output
    page = " ".join(result.stdout.split())
    assert "8 of 12 regions are where their blocks are cached: 50 MiB of 75 MiB" in page
    assert "move 4 regions, one after another" in page
    assert "4 to c:16020, which has 0 regions now" in page
    assert "no move gives a RegionServer more than 5 regions" in page
    assert "afterwards, 75 MiB of 75 MiB are cached where their region is open: 25 MiB more than now" in page
    assert "400 GETs saved" in page
    assert "the oldest was written 5 s ago" in page
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (model.moves, model.journal, model.balancer) == ([], None, True)


def test_regions_come_home_and_the_lock_is_gone(here: Deployed, model: HealModel) -> None:
    result = run(here, "--yes")
    assert result.exit_code == 0, result.output
    assert user_regions(model) == model.caches
    with environment_lock(here.aws, here.environment, "test"):
        pass
    result = run(here, "--yes")
    assert (result.exit_code, len(model.moves)) == (0, 4)
    assert "nothing to gain" in " ".join(result.stdout.split())


def test_an_interrupted_heal_continues_without_moves(here: Deployed, model: HealModel) -> None:
    model.mischief = "r02"
    assert isinstance(run(here, "--yes").exception, OperationFailed)
    model.homes["r02"], model.mischief = model.caches["r02"], None
    result = run(here, "--yes")
    assert result.exit_code == 0, result.output
    assert "a heal that was interrupted" in result.stdout
    assert (model.balancer, model.journal, len(model.moves)) == (True, None, 4)


def test_tables_with_moved_regions_are_reopened_although_no_region_moves(here: Deployed, model: HealModel) -> None:
    """A region that was moved by hand, or by a command that was ended where it was, would leave at the next restart."""
    model.homes.update(model.caches)
    model.lasts = {**model.homes, "r02": "a:16020"}
    result = run(here, "--yes")
    assert result.exit_code == 0, result.output
    assert "reopen tables with moved regions in place" in result.stdout
    assert (model.lasts, model.moves, model.balancer) == (model.homes, [], True)
    assert "nothing to gain" in run(here, "--yes").stdout


def test_an_interrupted_heal_can_be_ended_where_it_is(here: Deployed, model: HealModel) -> None:
    assert "no heal was interrupted" in run(here, "--abandon", "--yes").stdout
    model.mischief = "r02"
    assert isinstance(run(here, "--yes").exception, OperationFailed)
    assert not model.balancer
    result = run(here, "--abandon", "--yes")
    assert result.exit_code == 0, result.output
    assert "a heal was interrupted; before it, the balancer was on" in result.stdout
    assert (model.balancer, model.journal, len(model.moves)) == (True, None, 4)


def test_a_second_operator_is_refused_by_the_lock(here: Deployed, model: HealModel) -> None:
    with environment_lock(here.aws, here.environment, "restart --rolling"):
        assert isinstance(run(here, "--yes").exception, Refused)
    assert model.moves == []


def test_a_region_that_moves_while_the_question_waits_refuses_it(
    here: Deployed, model: HealModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def confirm(_: str) -> None:
        model.homes["r02"] = "b:16020"

    monkeypatch.setattr("warmbase.cli.operate.running.confirm", confirm)
    error = run(here).exception
    assert isinstance(error, Refused)
    assert "region r02: was on a:16020, is on b:16020" in str(error)
    assert (model.moves, model.balancer) == ([], True)


def test_a_pause_follows_each_move(here: Deployed, model: HealModel) -> None:
    page = " ".join(run(here, "--pause", "30 s", "--dry-run").stdout.split())
    assert "5.67 min, most of it for EMR steps to start" in page
    assert run(here, "--pause", "1 min", "--yes").exit_code == 0
    assert model.pauses == [60] * 4
    assert "is too large" in run(here, "--pause", "11 min").stderr


def test_without_slack_every_server_has_as_many_regions(here: Deployed, model: HealModel) -> None:
    model.caches = dict.fromkeys(model.caches, "c:16020")
    result = run(here, "--slack", "0", "--yes")
    assert result.exit_code == 0, result.output
    assert list(user_regions(model).values()).count("c:16020") == 4


def test_a_cluster_without_a_cache_on_disk_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    text = (Path(__file__).parents[2] / "environments/dev.yaml").read_text()
    file.write_text(f"{text}\nstorage: {{mode: s3-plain}}\n")
    environment = read_environment(str(file))
    with pytest.raises(Refused, match="has no caches that regions could be away from"):
        refuse_unhealable(launch_of(environment, environment.active))


def test_a_replica_is_refused() -> None:
    environment = read_environment("prod")
    launch = launch_of(environment, environment.active)
    refuse_unhealable(launch)
    name = launch.plan.cluster
    clusters = {**environment.clusters, name: replace(environment.clusters[name], role="replica")}
    with pytest.raises(Refused, match="is a read replica"):
        refuse_unhealable(replace(launch, environment=replace(environment, clusters=clusters)))
