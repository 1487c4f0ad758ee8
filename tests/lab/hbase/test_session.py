"""A run of scenarios: what fails keeps its logs and the others' findings; what was killed leaves nothing that stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.hbase import background
from lab.hbase import laboratory as run_directory
from lab.hbase import run as running
from lab.hbase.experiment import ScenarioResult
from lab.hbase.laboratory import Laboratory
from lab.hbase.result import Measurement
from lab.hbase.run import RunFiles, RunRequest, run
from lab.hbase.scenarios import SCENARIOS
from lab.hbase.software import Software
from lab.hbase.store import Settings
from lab.machine.process import began
from lab.scaled_plan import Small, miniature
from tests.patience import HANG_SECONDS
from warmbase.configurations.launch import Launch
from warmbase.facts.releases import releases
from warmbase.ground.errors import InvalidInput, OperationFailed, Problem
from warmbase.ground.units import GIB, MIB

FIRST, SECOND, THIRD = SCENARIOS[:3]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache of its own, not the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "warmbase" / "lab"


@pytest.fixture
def laboratory(launches: Callable[[str], Launch]) -> Laboratory:
    """One that is never started."""
    launch = launches("prod")
    release = releases()[launch.environment.release]
    small = Small(memory_bytes=1 * GIB, data_bytes=64 * MIB)
    return Laboratory(
        launch=launch,
        release=release,
        miniature=miniature(launch.plan, launch.environment.workload, release, small),
        software=Software(
            hbase="2.6.2",
            hadoop="3.4.1",
            java=Path("/java"),
            java_version="21",
            class_path=(),
            store_class_path=(),
            versions=(("HBase", "2.6.2"),),
            substitution="",
        ),
        latency=Settings(latency_ms=20.0),
        memory_bytes=small.memory_bytes,
    )


@pytest.fixture
def scenarios(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Path], float]]:
    """Let each named scenario act in its directory; the others return 1."""
    does: dict[str, Callable[[Path], float]] = {}

    def scenario_of(name: str) -> Callable[[Path, Callable[[str], None]], ScenarioResult]:
        def scenario(directory: Path, _: Callable[[str], None]) -> ScenarioResult:
            (directory / "logs").mkdir(parents=True)
            (directory / "logs" / "server-0.log").write_text("ERROR out of order")
            value = does[name](directory) if name in does else 1.0
            return ScenarioResult(
                figures=(Measurement(case="", name="value", unit="", measured=value, because="said so"),)
            )

        return scenario

    monkeypatch.setattr(running, "BENCHED", {})
    monkeypatch.setattr(running, "unbenched", scenario_of)
    return does


def run_request(of: Laboratory, *names: str, named: bool = True, seconds: float = 15.0) -> RunRequest:
    return RunRequest(
        of=of,
        scenarios=names or SCENARIOS,
        named=named and bool(names),
        seconds=seconds,
        seed=2,
        volume_mib_s=40,
        command="warmbase lab run",
    )


def quiet(_: str) -> None:
    pass


def fails(error: Exception) -> Callable[[Path], float]:
    def scenario(directory: Path) -> float:
        if isinstance(error, OperationFailed):
            log = f"{directory}/logs/server-0.log"
            raise OperationFailed(Problem(where="server-0", what="ended", why="", fix=f"read {log}"))
        raise error

    return scenario


SERVER_ENDED = OperationFailed(Problem(where="server-0", what="ended", why="", fix="read its log"))


@pytest.mark.parametrize("error", [SERVER_ENDED, ValueError("no such number"), ZeroDivisionError("none")])
def test_one_that_fails_keeps_its_logs_and_the_findings_of_the_others(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path, error: Exception
) -> None:
    scenarios[SECOND] = fails(error)
    results = RunFiles(tmp_path / "results", "prod")
    with pytest.raises(OperationFailed, match=f"read its logs in {results.logs(SECOND)}") as caught:
        run(run_request(laboratory, FIRST, SECOND, THIRD), results, quiet)
    assert [scenario.name for scenario in results.read().scenarios] == [FIRST, THIRD]
    assert (results.logs(SECOND) / "logs" / "server-0.log").read_text() == "ERROR out of order"
    if isinstance(error, OperationFailed):
        assert f"{results.logs(SECOND)}/logs/server-0.log" in str(caught.value)
    else:
        assert repr(error) in str(caught.value)


def test_a_run_is_removed_on_with_and_what_is_named_is_run_again(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path
) -> None:
    results = RunFiles(tmp_path / "results", "prod")
    run(run_request(laboratory, FIRST), results, quiet)
    scenarios[FIRST] = lambda _: 2.0
    whole = run(run_request(laboratory), results, quiet, resume=True)
    assert [scenario.name for scenario in whole.scenarios] == list(SCENARIOS)
    assert whole.scenarios[0].figures[0].measured == 1.0
    again = run(run_request(laboratory, FIRST), results, quiet, resume=True)
    assert len(again.scenarios) == len(SCENARIOS)
    assert again.scenarios[0].figures[0].measured == 2.0
    assert results.read() == again


def test_scenarios_run_in_their_own_order_every_once(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path
) -> None:
    order: list[str] = []
    for name in (FIRST, THIRD):
        scenarios[name] = lambda _, name=name: float(order.append(name) or 0)  # type: ignore[func-returns-value,misc]
    run(run_request(laboratory, THIRD, FIRST, THIRD), RunFiles(tmp_path / "results", "prod"), quiet)
    assert order == [FIRST, THIRD]


def test_what_an_earlier_run_detected_is_not_written_over(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path
) -> None:
    assert not scenarios
    results = RunFiles(tmp_path / "results", "prod")
    run(run_request(laboratory, FIRST, SECOND), results, quiet)
    before = results.data.read_bytes()
    with pytest.raises(
        InvalidInput, match=f"results of an earlier run for {FIRST}\n.*\n  fix: keep them with --resume"
    ):
        run(run_request(laboratory, SECOND, THIRD), results, quiet)
    assert results.data.read_bytes() == before
    run(run_request(laboratory, FIRST, SECOND), results, quiet)  # the same ones are simply made anew


def test_windows_of_another_length_are_another_run(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path
) -> None:
    assert not scenarios
    results = RunFiles(tmp_path / "results", "prod")
    run(run_request(laboratory, FIRST), results, quiet)
    with pytest.raises(InvalidInput, match="at another scale"):
        run(run_request(laboratory, SECOND, seconds=30.0), results, quiet, resume=True)


def test_a_run_leaves_no_directory(
    laboratory: Laboratory, scenarios: dict[str, Callable[[Path], float]], tmp_path: Path, home: Path
) -> None:
    scenarios[FIRST] = fails(ValueError("no"))
    with pytest.raises(OperationFailed):
        run(run_request(laboratory, FIRST, SECOND), RunFiles(tmp_path / "results", "prod"), quiet)
    assert list((home / "runs").iterdir()) == []


def test_directories_of_commands_that_are_removed_are_removed_and_those_of_live_ones_are_not(home: Path) -> None:
    mine = f"{os.getpid()}-{began(os.getpid())}"
    of_another_of_my_number = f"{os.getpid()}-1"
    for name in (mine, of_another_of_my_number, "4194303-77", "nonsense"):
        (home / "runs" / name / "logs").mkdir(parents=True)
    assert {item.name for item in run_directory.clean_abandoned()} == {
        of_another_of_my_number,
        "4194303-77",
        "nonsense",
    }
    assert [path.name for path in (home / "runs").iterdir()] == [mine]
    assert run_directory.running() == (os.getpid(),)


def test_down_ends_what_a_killed_command_abandoned_on_the_way_up(home: Path) -> None:
    (home / "up" / "logs").mkdir(parents=True)
    stray = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(3600)"], cwd=home / "up" / "logs", start_new_session=True
    )
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], cwd=home, start_new_session=True)
    try:
        assert background.background_lab() is None
        assert background.down()
        assert stray.wait(HANG_SECONDS) != 0
        assert other.poll() is None
        assert not (home / "up").exists()
        assert not background.down()
    finally:
        for process in (stray, other):
            process.kill()
            process.wait(HANG_SECONDS)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"ports": {}}'])
def test_a_state_that_cannot_be_read_is_no_lab_that_is_up(home: Path, text: str) -> None:
    home.mkdir(parents=True)
    (home / "up.json").write_text(text)
    assert background.background_lab() is None
    background.down()
    assert not (home / "up.json").exists()
