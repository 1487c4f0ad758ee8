"""`warmbase restart --rolling` shows what it would do, asks, holds the lock, and refuses clusters without a cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.operations.deployed import Cut, Deployed
from tests.operations.killable import SERVERS
from tests.operations.test_available_restart import MovingModel
from tests.operations.test_rolling_restart import QUICK, Model
from warmbase.cli.operate import restart as command
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused, WarmbaseError
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.aws.progress import carry_out
from warmbase.operations.hbase.rolling_restart import AvailableRestart, RollingRestart, refuse_unkept


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> Model:
    """An HBase in memory in place of the cluster's; the clients are those of this process."""
    model = Model()
    rolled = RollingRestart(hbase=model, journals=model.journals, patience=QUICK)
    monkeypatch.setattr(command, "rolling_restart", lambda *_, **__: rolled)
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    return model


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command.restart, [str(here.file), *options])


def test_the_proposal_names_each_server_and_changes_nothing(here: Deployed, model: Model) -> None:
    result = run(here, "--rolling", "--dry-run")
    assert result.exit_code == 0, result.output
    titles = [line.removeprefix("  proposed").strip() for line in result.stdout.splitlines()]
    at = [titles.index(f"restart {server} in place") for server in ("b:16020", "c:16020", "a:16020")]
    assert at == sorted(at)
    assert (model.restarts, model.journal, model.balancer) == ([], None, True)


def test_an_available_restart_shows_its_cost_and_changes_nothing(
    here: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MovingModel()
    rolled = AvailableRestart(hbase=model, journals=model.journals, patience=QUICK)
    monkeypatch.setattr(command, "rolling_restart", lambda *_, **__: rolled)
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    result = run(here, "--rolling", "--available", "--dry-run")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert words.index("move the regions of b:16020 away") < words.index("restart b:16020 in place")
    assert "about 5.86 KiB of second copies" in words
    assert "about 60 GETs" in words
    assert "the caches have room for them" in words
    assert (model.restarts, model.moves, model.journal) == ([], [], None)


def test_an_interrupted_restart_proposes_only_the_servers_that_remain(here: Deployed, model: Model) -> None:
    model.lose_cache = "b:16020"
    assert isinstance(run(here, "--rolling", "--yes").exception, OperationFailed)
    result = run(here, "--rolling", "--dry-run")
    assert "1 of 3 RegionServers were restarted" in result.stdout
    assert "restart b:16020 in place" not in result.stdout
    assert "restart c:16020 in place" in result.stdout


def test_a_continuation_that_another_operator_has_finished_meanwhile_restarts_nothing(
    here: Deployed, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.lose_cache = "c:16020"
    assert isinstance(run(here, "--rolling", "--yes").exception, OperationFailed)
    model.lose_cache = None

    def finish(*_: object, **__: object) -> None:
        carry_out(
            RollingRestart(hbase=model, journals=model.journals, patience=QUICK).stages(model.state(print)), Cut()
        )

    monkeypatch.setattr("warmbase.cli.operate.running.confirm", finish)
    error = run(here, "--rolling").exception
    assert isinstance(error, Refused)
    assert "is out of date, so nothing was changed" in str(error)
    assert sorted(model.restarts) == list(SERVERS), "each of them once"


def test_an_interrupted_restart_can_be_ended_where_it_is(here: Deployed, model: Model) -> None:
    result = run(here, "--rolling", "--abandon", "--yes")
    assert result.exit_code == 0, result.output
    assert "no restart was interrupted" in result.stdout
    model.lose_cache = "b:16020"
    assert isinstance(run(here, "--rolling", "--yes").exception, OperationFailed)
    assert not model.balancer
    shown = run(here, "--rolling", "--abandon", "--dry-run")
    assert "a restart was interrupted; before it, the balancer was on" in shown.stdout
    assert not model.balancer
    assert run(here, "--rolling", "--abandon", "--yes").exit_code == 0
    assert (model.restarts, model.journal, model.balancer) == (["b:16020"], None, True)


def test_every_server_restarts_and_the_lock_is_gone(here: Deployed, model: Model) -> None:
    result = run(here, "--rolling", "--yes")
    assert result.exit_code == 0, result.output
    assert sorted(model.restarts) == list(SERVERS)
    assert model.most_down == 1
    with environment_lock(here.aws, here.environment, "test"):
        pass


def test_a_second_operator_is_refused_by_the_lock(here: Deployed, model: Model) -> None:
    with environment_lock(here.aws, here.environment, "restart --rolling"):
        result = run(here, "--rolling", "--yes")
    assert isinstance(result.exception, Refused)
    assert "is being changed by another command" in str(result.exception)
    assert model.restarts == []


def test_a_server_without_an_index_refuses_before_the_question(here: Deployed, model: Model) -> None:
    model.reasons = {"b:16020": "there is no index"}
    result = run(here, "--rolling", "--dry-run")
    assert isinstance(result.exception, Refused)
    assert model.journal is None


def test_without_rolling_the_command_explains(here: Deployed) -> None:
    error = run(here).exception
    assert isinstance(error, WarmbaseError)
    assert "would take every row offline" in str(error)


UNKEPT = {
    "storage: {mode: hdfs}": "has no cache that a restart in place would keep",
    "storage: {mode: s3-plain}": "has no cache that a restart in place would keep",
}


@pytest.mark.parametrize(("more", "what"), UNKEPT.items())
def test_a_cluster_without_a_cache_on_disk_is_refused(more: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text((Path(__file__).parents[2] / "environments/dev.yaml").read_text() + f"\n{more}\n")
    environment = read_environment(str(file))
    with pytest.raises(Refused, match=what):
        refuse_unkept(launch_of(environment, environment.active))


def test_a_replica_is_refused() -> None:
    environment = read_environment("prod")
    launch = launch_of(environment, environment.active)
    refuse_unkept(launch)
    name = launch.plan.cluster
    clusters = {**environment.clusters, name: replace(environment.clusters[name], role="replica")}
    with pytest.raises(Refused, match="is a read replica"):
        refuse_unkept(replace(launch, environment=replace(environment, clusters=clusters)))
