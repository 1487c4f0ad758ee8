"""docs/lab-results.md: current, whole, and Markdown whatever a run says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import tools.reference
from lab.hbase.result import Measurement, MeasurementTarget, Run, TargetKind
from tests.lab.hbase.sample_run import RUN, hostile_run
from tools.lab_page import (
    DOCS,
    committed_run,
    lab_page,
    lab_pictures,
    lab_results_files,
    lab_results_page,
    there,
    write_lab_results,
)
from tools.reference import reference
from warmbase.ground.errors import InvalidInput

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page() -> str:
    return lab_page(RUN, "Retention is **not** free.\n")


@pytest.fixture(scope="module")
def pictures() -> Mapping[str, str]:
    return lab_pictures(RUN)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A docs/ where the sample run is committed."""
    (tmp_path / "lab-results.json").write_text(RUN.to_json(), encoding="utf-8")
    return tmp_path


def written(docs: Path) -> dict[Path, str]:
    return {file: file.read_text(encoding="utf-8") for file in there(docs)}


def test_page_and_pictures_are_those_of_the_committed_run_and_without_one_there_are_none(
    request: pytest.FixtureRequest,
) -> None:
    files = lab_results_files(DOCS)
    if files and request.config.getoption("--update-golden"):
        write_lab_results(DOCS)
    assert written(DOCS) == files


def test_page_and_pictures_are_written_and_those_of_an_earlier_run_removed(
    docs: Path, pictures: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.reference, "DOCS", docs)
    (docs / "pictures").mkdir()
    for name in ("lab-warm-up-9.svg", "architecture.svg"):
        (docs / "pictures" / name).write_text("<svg/>")
    result = CliRunner().invoke(reference, ["lab-results", "--write"])
    assert (result.exit_code, result.stdout) == (0, "")
    page = {docs / "lab-results.md": lab_page(RUN)}
    assert written(docs) == page | {docs / "pictures" / name: picture for name, picture in pictures.items()}
    assert (docs / "pictures/architecture.svg").exists()


def test_lessons_stand_below_the_targets(docs: Path) -> None:
    (docs / "lab-learnt.md").write_text("Retention is **not** free.\n")
    assert "\n\n## What was learnt\n\nRetention is **not** free.\n\n## What ran\n" in lab_results_page(docs)


def test_everything_of_a_run_is_on_its_page(page: str) -> None:
    text_of_page = " ".join(page.replace("\\", "").split())
    for scenario in RUN.scenarios:
        assert f"## {scenario.title}" in text_of_page
        texts = [scenario.question, *scenario.limits, *(chart.title for chart in scenario.charts)]
        texts += [text for trial in scenario.tried for text in (trial.key, trial.why)]
        texts += [text for figure in scenario.figures for text in (figure.case, figure.name, figure.because)]
        assert [text for text in texts if text not in text_of_page] == []
    pairs = (*RUN.software, *RUN.scale, *((substitution.key, substitution.why) for substitution in RUN.substitutions))
    assert [text for pair in pairs for text in pair if text not in text_of_page] == []
    assert f"$ {RUN.command}" in page
    assert "**3 of 6 targets met, all 5 facts as predicted.**" in page
    assert "Retention is **not** free." in page


def test_the_page_begins_with_every_target_and_its_outcome(page: str) -> None:
    top = page.partition("\n## ")[0]
    assert top.startswith(
        "# What the lab measured\n\n**3 of 6 targets met, all 5 facts as predicted.**\n\n"
        "| scenario | case | figure | target |"
    )
    rows = [line for line in top.splitlines() if line.endswith(("| met |", "| **missed** |"))]
    targets = [figure for scenario in RUN.scenarios for figure in scenario.figures if figure.target]
    assert len(rows) == len(targets) == 11
    for row, figure in zip(rows, targets, strict=True):
        assert f"| {figure.name} |" in row
        assert row.endswith("| met |" if figure.holds else "| **missed** |")


def test_a_missed_target_is_bold_at_the_top_and_in_its_scenario(page: str) -> None:
    missed = [figure for scenario in RUN.scenarios for figure in scenario.missed]
    assert page.count("| **missed** |") == 2 * len(missed) == 6
    assert "| time until 95 % of the blocks are cached | within 20 % | 41.07 s | 33.6 s | **missed** |" in page


def test_a_case_is_named_where_it_begins_and_figures_of_none_are_of_no_other() -> None:
    def figure(case: str, name: str) -> Measurement:
        return Measurement(case=case, name=name, unit="", measured=1.0, because="")

    figures = (figure("one", "a"), figure("", "b"), figure("one", "c"))
    markdown = lab_page(replace(RUN, scenarios=(replace(RUN.scenarios[0], figures=figures),)))
    cells = [line.split(" | ")[1:3] for line in markdown.splitlines() if re.match(r"\| \d", line)]
    assert cells == [["one", "**a**"], ["", "**c**"], ["-", "**b**"]]


def test_every_picture_is_named_once_and_is_one_of_those_drawn(page: str, pictures: Mapping[str, str]) -> None:
    named = re.findall(r"!\[[^]]+\]\(pictures/([^)]+)\)", page)
    assert sorted(named) == sorted(pictures)
    assert len(named) == sum(len(scenario.charts) for scenario in RUN.scenarios)
    assert all(re.fullmatch(r"lab-[a-z0-9-]+-\d+\.svg", name) for name in named)


def test_every_link_to_a_scenario_leads_to_its_heading(page: str) -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", line[3:].lower()).replace(" ", "-") for line in page.splitlines() if "## " in line
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= headings


@pytest.mark.parametrize("run", [RUN, hostile_run()], ids=["sample", "hostile"])
def test_every_row_of_a_table_has_the_cells_of_its_header(run: Run) -> None:
    tables = [part.splitlines() for part in lab_page(run).split("\n\n") if part.startswith("|")]
    assert len(tables) >= 3
    for lines in tables:
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {lines[0].count("|")}


def test_no_text_of_a_run_becomes_markup() -> None:
    outside_code = re.sub(r"^```.*?^```$", "", lab_page(hostile_run()), flags=re.DOTALL | re.MULTILINE)
    assert "<" not in outside_code
    assert "&lt;script&gt;" in outside_code


def test_a_value_cannot_end_the_block_that_it_stands_in() -> None:
    fenced = replace(RUN.substitutions[0], rendered="a\n```\n# no heading", lab="``")
    markdown = lab_page(replace(RUN, substitutions=(fenced,)))
    assert "````diff\n  hbase.rootdir\n- a\n- ```\n- # no heading\n+ ``\n````" in markdown


def test_prose_is_wrapped_and_no_line_of_it_begins_a_list_by_chance() -> None:
    scenario = replace(RUN.scenarios[0], question="1 - 2 + 3 # four " * 40)
    markdown = lab_page(replace(RUN, scenarios=(scenario,)))
    question = markdown.partition("## Warming by reads and by prefetch\n\n")[2].partition("\n\n")[0]
    assert len(question.splitlines()) > 4
    assert max(map(len, question.splitlines())) <= 125
    assert not [line for line in question.splitlines() if re.match(r"[-+#] ", line)]


@pytest.mark.parametrize("arguments", [["lab-results"], ["lab-results", "--write"]], ids=" ".join)
def test_without_a_committed_run_the_command_says_what_is_missing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.reference, "DOCS", tmp_path)
    result = CliRunner().invoke(reference, arguments)
    assert isinstance(result.exception, InvalidInput)
    assert "lab-results.json" in str(result.exception)
    assert "fix: write the JSON of a run of `warmbase lab` there" in str(result.exception)
    assert lab_results_files(tmp_path) == written(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"software": 1}', "nonsense"])
def test_what_is_no_run_is_refused_as_input(text: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match="this is no run of the lab"):
        committed_run(file)


@pytest.mark.thorough
def test_the_command_prints_the_page_of_the_run_and_loads_no_altair(docs: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nimport tools.reference\n"
        f"tools.reference.DOCS = Path({str(docs)!r})\n"
        "tools.reference.reference(['lab-results'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert result.stdout == lab_page(RUN)
    assert not {"altair", "vl_convert"} & set(result.stderr.split())


@pytest.mark.parametrize(("facts", "rows"), [(20, 20), (21, 1)])
def test_many_facts_that_are_as_predicted_are_one_row_of_targets(facts: int, rows: int) -> None:
    same = MeasurementTarget(kind=TargetKind.SAME)
    fact = Measurement(case="", name="engine", unit="", measured="files", predicted="files", because="so", target=same)
    facts_as_predicted = [replace(fact, case=f"case {index}") for index in range(facts)]
    missed = replace(fact, case="the odd one", measured="file")
    scenario = replace(RUN.scenarios[0], figures=(*facts_as_predicted, missed))
    targets, _, _ = lab_page(replace(RUN, scenarios=(scenario,))).partition("Each scenario follows")
    assert targets.count("| met |") == rows
    assert targets.count("| **missed** |") == 1
    assert "the odd one" in targets
