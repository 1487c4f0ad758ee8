"""`warmbase heal` on HDFS shows the locality of each server, asks, holds the lock, and moves replicas of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.deployed import Deployed, deployed
from tests.operations.mocked_aws import clients
from tests.operations.test_locality_heal import HdfsModel
from warmbase.cli.operate import heal as command
from warmbase.configurations.launch import launch_of
from warmbase.environments.environment import Environment, HBaseSecurity, Kerberos
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.ground.units import MIB
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.hbase.heal import LocalityHeal, refuse_unhealable

ON_HDFS = "{text}\nstorage: {{mode: hdfs}}\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """One cluster for every test, because the model stands for its HBase and HDFS."""
    install()
    with mock_aws():
        yield deployed(clients(), tmp_path_factory.mktemp("locality"))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> HdfsModel:
    """An HDFS in memory in place of the cluster's."""
    model = HdfsModel()
    monkeypatch.setattr(command, "environment_locality_heal", lambda *_: LocalityHeal(hdfs=model))
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    launch = here.launch
    on_hdfs = replace(launch, plan=replace(launch.plan, mode=on_hdfs_environment(here.file.parent).mode))
    planned = type("Planned", (), {"launch": on_hdfs})
    monkeypatch.setattr("warmbase.cli.operate.running.deployable_cluster", lambda *_: planned)
    return model


def on_hdfs_environment(directory: Path) -> Environment:
    file = directory / "elsewhere" / "dev.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(ON_HDFS.format(text=(Path(__file__).parents[2] / "environments/dev.yaml").read_text()))
    return read_environment(str(file))


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command.heal, [str(here.file), *options])


def test_the_proposal_shows_each_server_that_lacks_blocks_and_changes_nothing(here: Deployed, model: HdfsModel) -> None:
    result = run(here, "--dry-run")
    assert result.exit_code == 0, result.output
    page = " ".join(result.stdout.split())
    assert "2 RegionServers; 70 % of 2.5 GiB in the store files of their regions is on their own hosts" in page
    assert "b:16020: 40 % of 1.25 GiB is local; 6 replicas (768 MiB) move to it" in page
    assert "a:16020" not in page
    assert "768 MiB between DataNodes, each with 100 MiB/s" in page
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (model.calls, model.away) == ([], 6)


def test_replicas_move_at_the_bandwidth_and_the_second_time_nothing_is_left(here: Deployed, model: HdfsModel) -> None:
    result = run(here, "--bandwidth", "50 MiB/s", "--yes")
    assert result.exit_code == 0, result.output
    assert {rate for rate, _ in model.calls} == {50 * MIB}
    assert model.away == 0
    with environment_lock(here.aws, here.environment, "test"):
        pass
    steps = len(model.calls)
    result = run(here, "--yes")
    assert (result.exit_code, len(model.calls)) == (0, steps)
    assert "nothing to gain" in " ".join(result.stdout.split())


def test_a_second_operator_is_refused_by_the_lock(here: Deployed, model: HdfsModel) -> None:
    with environment_lock(here.aws, here.environment, "compact"):
        assert isinstance(run(here, "--yes").exception, Refused)
    assert model.calls == []


@pytest.mark.parametrize("option", [("--slack", "0"), ("--pause", "1 s")])
def test_options_of_the_other_mode_are_refused(here: Deployed, model: HdfsModel, option: tuple[str, str]) -> None:
    error = run(here, *option, "--yes").exception
    assert isinstance(error, InvalidInput)
    assert f"{option[0]}  has no effect in mode hdfs" in str(error)
    assert model.calls == []


def test_a_rate_at_which_a_block_would_outlast_its_step_is_refused(here: Deployed, model: HdfsModel) -> None:
    result = run(here, "--bandwidth", "1 KiB/s", "--yes")
    assert result.exit_code == 2
    assert "is too small" in result.output
    assert model.calls == []


def test_a_cluster_with_kerberos_is_refused(tmp_path: Path) -> None:
    environment = on_hdfs_environment(tmp_path)
    launch = launch_of(environment, environment.active)
    refuse_unhealable(launch)
    kerberos = Kerberos(realm="EC2.INTERNAL", admin_password="{{resolve:secretsmanager:hbase/kdc}}")
    with pytest.raises(Refused, match="does not let this command move replicas of blocks"):
        refuse_unhealable(replace(launch, security=HBaseSecurity(kerberos=kerberos)))
