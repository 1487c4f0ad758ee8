"""A draft is a valid file that plans, states what a person stated, and assumes nothing else than it says."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.engines.trino.section import ANY_TRINO
from warmbase.environments.draft import (
    HEAD,
    MARK,
    MIDDLE_ZIPF,
    REQUIRED,
    Draft,
    DraftFile,
    draft_file,
    draft_text,
    refusals,
)
from warmbase.environments.environment import Environment
from warmbase.environments.planning import infeasible, plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.schema_keys import ANY_NAME, schema_keys
from warmbase.facts.prices import priced_regions
from warmbase.facts.releases import newest_release
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.ground.units import GIB, TIB, exact_size, parse_size
from warmbase.sizing.modes import MODES
from warmbase.sizing.workload.workload import OpenLoad

GOLDEN = Path(__file__).parents[1] / "golden/drafts/events.yaml"
STATED = {
    "workload.stored": "3TiB",
    "workload.reads.per_second": "2000",
    "workload.row": "2KiB",
    "region": "eu-west-1",
}
MINIMAL = f"""\
name: events
region: eu-west-1
release: {newest_release().label}
network: {{availability_zone: eu-west-1a}}
workload:
  {{stored: 3 TiB, reads: {{per_second: 2000}}, row: 2 KiB, cell: 2 KiB, popularity: {{zipf: 0.8}}, regions: 308}}
clusters: {{blue: {{}}}}
"""
"""The draft above, without everything that the schema assumes too."""
SIZES = st.integers(1, 2**10).flatmap(lambda number: st.sampled_from([f"{number} {unit}" for unit in ("B", "KiB")]))


def drafted(directory: Path, stated: Mapping[str, str], name: str = "events") -> DraftFile:
    assignments = [Assignment.at(tuple(path.split(".")), value, f"--{path}") for path, value in stated.items()]
    return draft_file(directory / f"{name}.yaml", assignments, {})


def read_again(stated: Mapping[str, str]) -> Environment:
    """Return the environment of a draft after it was written."""
    with TemporaryDirectory() as directory:
        file = drafted(Path(directory), stated)
        file.write()
        environment = read_environment(str(file.path))
    assert environment == file.environment
    return environment


@pytest.mark.thorough
@given(
    stored=st.integers(1, 64 * TIB // GIB).map(lambda gib: f"{gib} GiB") | SIZES,
    reads=st.integers(1, 200_000),
    row=SIZES | st.integers(1, 1024).map(lambda mib: f"{mib} MiB"),
    region=st.sampled_from(priced_regions()),
    mode=st.sampled_from(sorted(MODES)),
)
def test_a_draft_states_what_was_stated_and_plans(stored: str, reads: int, row: str, region: str, mode: str) -> None:
    stated = {
        "workload.stored": stored,
        "workload.reads.per_second": str(reads),
        "workload.row": row,
        "region": region,
        "storage.mode": mode,
    }
    environment = read_again(stated)
    workload = environment.workload
    assert (workload.stored_bytes, workload.row_bytes) == (parse_size(stored), parse_size(row))
    assert workload.load == OpenLoad(reads_per_second=reads)
    assert (environment.region, environment.mode.name) == (region, mode)
    with suppress(Infeasible):
        sized = plan_of(environment, environment.active)
        assert sized.feasible or infeasible(environment.source, sized).problems[0].fix


def test_what_a_draft_calls_the_default_is_the_default(tmp_path: Path) -> None:
    minimal = tmp_path / "minimal.yaml"
    minimal.write_text(MINIMAL, encoding="utf-8")
    assert replace(read_again(STATED), source="") == replace(read_environment(str(minimal)), source="")


def test_a_plan_takes_every_marked_value_for_assumed() -> None:
    environment = read_again(STATED)
    paths = {path.replace(ANY_NAME, "blue") for path, key in schema_keys().items() if not key.is_section}
    assert {path for path in paths - {"clusters"} if environment.states(path)} == {"name", *REQUIRED}


def test_a_draft_marks_every_value_that_nobody_stated() -> None:
    text = draft_text(Draft(name="events", values=STATED))
    lines = text.splitlines()
    values = [line for line in lines if line.strip() and not line.lstrip().startswith("#") and not line.endswith(":")]
    stated = {"name", *(path.rpartition(".")[2] for path in REQUIRED)}
    unmarked = {line.split(":")[0].strip() for line in values if not _is_marked(lines, line)}
    assert unmarked == stated
    assert text.count(f"# {MARK}") == len(values) - len(stated)
    assert set(HEAD) <= {line.removeprefix("# ") for line in lines}


def _is_marked(lines: list[str], line: str) -> bool:
    """Return whether the line, or the comment above it, has the mark."""
    above = lines[: lines.index(line)]
    comment = []
    while above and above[-1].lstrip().startswith("# "):
        comment.append(above.pop())
    return any(f"# {MARK}" in part for part in (line, *comment))


def test_a_draft_has_every_key_that_has_a_default() -> None:
    written = draft_text(Draft(name="events", values=STATED))
    with_default = {key.path for key in schema_keys().values() if key.default is not None and not key.sections}
    inside = {
        path
        for path in with_default
        if "[]" in path or f"{ANY_NAME}.workload" in path or f"{ANY_NAME}.t" in path or ANY_TRINO in path
    }
    missing = {path for path in with_default - inside if f"{path.rpartition('.')[2]}:" not in written}
    assert missing == set()


def test_the_written_file_is_the_golden_one(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = drafted(tmp_path, STATED).text
    if request.config.getoption("--update-golden"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("workload.stored", "3 TB", "3 TB is 2.728 TiB; did you mean that, or 3 TiB?"),
        ("workload.row", "2 GiB", "must be above 0 B and at most 1 GiB"),
        ("region", "mars", "there are no prices for 'mars'"),
        ("workload.reads.per_second", "many", "'many' is not a number"),
        ("workload.popularity", "{zipf: 7}", "must be above 0 and at most 3"),
        ("network.availability_zone", "us-east-1a", "is not in region eu-west-1"),
    ],
)
def test_a_refused_value_names_its_option_alone(path: str, text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        drafted(tmp_path, {**STATED, path: text})
    assert [(problem.where, why in problem.why) for problem in refused.value.problems] == [(f"--{path}", True)]
    assert list(tmp_path.iterdir()) == []


def test_one_answer_is_checked_before_the_others_are_known() -> None:
    answer = Assignment.at(("workload", "row"), "2KB", "answer")
    assert [problem.why for problem in refusals([answer], "answer")] == [
        "2 KB is 1.953 KiB; did you mean that, or 2 KiB?"
    ]
    assert refusals([Assignment.at(("workload", "row"), "2KiB", "answer")], "answer") == ()


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    first, second = drafted(tmp_path, STATED), drafted(tmp_path, {**STATED, "workload.stored": "4 TiB"})
    first.write()
    with pytest.raises(InvalidInput, match="exists already"):
        second.write()
    with pytest.raises(InvalidInput, match="does not overwrite"):
        drafted(tmp_path, STATED)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == [first.text]


@pytest.mark.parametrize(
    ("name", "why"), [("Events", "is not a name"), ("two words", "is not a name"), ("e'", "is not")]
)
def test_a_name_is_one_of_an_environment(name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        drafted(tmp_path, STATED, name)
    assert refused.value.problems[0].where == "NAME"


def test_no_other_file_has_the_name(tmp_path: Path) -> None:
    file = drafted(tmp_path, STATED)
    (tmp_path / "other.yaml").write_text(file.text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="has the same name"):
        drafted(tmp_path, STATED)


def test_the_middle_is_within_what_was_measured_of_web_requests() -> None:
    """Breslau et al., INFOCOM 1999, measured 0.64 to 0.83."""
    assert pytest.approx(0.8) == MIDDLE_ZIPF
    assert 0.64 <= MIDDLE_ZIPF <= 0.83


@pytest.mark.parametrize(("row", "cell"), [("2 KiB", "2 KiB"), ("1 GiB", "16 MiB"), ("100 B", "100 B")])
def test_a_row_is_one_cell_as_far_as_a_cell_may_go(row: str, cell: str) -> None:
    environment = read_again({**STATED, "workload.row": row})
    assert exact_size(environment.workload.cell_bytes) == cell
