"""Results of a run are written whole, read back, and gone on with only where they are of the same plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.commands.lab import lab
from lab.hbase.jmx import CacheCounters
from lab.hbase.recording import Recording, Sample, recordings_of_json, recordings_to_json
from lab.hbase.run import RunFiles
from lab.hbase.scenarios import BENCHED as WITH_A_BENCH
from lab.hbase.scenarios import SCENARIOS, benched, question, scenarios_of, servers_of, unbenched
from lab.hbase.store import StoreCounters
from lab.scaled_plan import SERVERS
from tests.lab.hbase.sample_run import RUN
from warmbase.ground.errors import InvalidInput

counts = st.integers(0, 10**9)
caches = st.builds(CacheCounters, **dict.fromkeys(CacheCounters.__struct_fields__, counts))
samples = st.builds(
    Sample,
    seconds=st.integers(0, 10_000).map(lambda tenths: tenths / 10),
    cache=caches,
    store=st.builds(StoreCounters, store_file_gets=counts, bytes_down=counts),
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_asks_a_question_and_can_be_run(name: str) -> None:
    scenario = question(name)
    assert scenario.question.endswith("?")
    assert not scenario.title.endswith(".")
    assert callable(benched(name) if name in WITH_A_BENCH else unbenched(name))


def test_every_scenario_belongs_to_one_size_of_lab() -> None:
    assert sorted(name for servers in SERVERS for name in scenarios_of(servers)) == sorted(SCENARIOS)
    assert servers_of("crash") == 3


def test_a_scenario_of_three_servers_is_refused_in_a_lab_of_one() -> None:
    result = CliRunner().invoke(lab, ["run", "prod", "--scenario", "crash"])
    [problem] = cast("InvalidInput", result.exception).problems
    assert (problem.where, problem.fix) == ("--scenario crash", "use --servers 3")


def test_a_run_is_written_and_detected_again(tmp_path: Path) -> None:
    results = RunFiles(tmp_path / "results", "prod")
    results.write(RUN)
    assert results.read() == RUN
    assert "<html" in results.page.read_text(encoding="utf-8")
    assert sorted(file.name for file in results.directory.iterdir()) == ["prod.html", "prod.json"]


@pytest.mark.parametrize("text", [None, "", "{}", "[1]"])
def test_what_is_no_run_cannot_be_removed_on_with(tmp_path: Path, text: str | None) -> None:
    results = RunFiles(tmp_path, "prod")
    if text is not None:
        results.data.write_text(text)
    with pytest.raises(InvalidInput, match="fix: leave out --resume"):
        results.read()


@given(st.lists(samples, max_size=5))
def test_a_recording_is_read_back_as_it_was(series: list[Sample]) -> None:
    recorded = (Recording(name="warming", samples=tuple(series)), Recording(name="none", samples=()))
    text = recordings_to_json(recorded)
    assert recordings_of_json(text) == recorded
    assert json.loads(text)["counters"]["cache"] == list(CacheCounters.__struct_fields__)


def test_a_sample_to_a_line(tmp_path: Path) -> None:
    results = RunFiles(tmp_path, "prod")
    cache = CacheCounters(**dict.fromkeys(CacheCounters.__struct_fields__, 1))
    one = Sample(seconds=1.0, cache=cache, store=StoreCounters())
    recordings = (Recording(name="warming", samples=(one, replace(one, seconds=2.0))),)
    results.record("warm-up", recordings_to_json(recordings))
    lines = (tmp_path / "prod-warm-up-recorded.json").read_text().splitlines()
    assert sum("[1.0, 1," in line or "[2.0, 1," in line for line in lines) == 2
