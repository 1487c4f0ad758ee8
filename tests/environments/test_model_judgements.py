"""A judgement with another value gives the plan of a model in whose source that value stands."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS
from warmbase.engines.engine import ENGINES
from warmbase.environments.reader.document import Document
from warmbase.environments.reader.read import read_ranges
from warmbase.environments.uncertainty.engine_facet import planning_of
from warmbase.environments.uncertainty.judgements import JUDGEMENTS, Judgement, altered_constants
from warmbase.environments.uncertainty.sensitivity import figures_of

ROOT = Path(__file__).parents[2]
SCRIPT = """
from warmbase.environments.reader.read import read_ranges
from warmbase.environments.uncertainty.sensitivity import figures_of
print(*figures_of(read_ranges("prod").middle, "blue"))
"""


@pytest.fixture(scope="module")
def prod() -> Document:
    return read_ranges("prod").middle


def altered_figures(document: Document, constants: dict[str, float]) -> tuple[float | None, float | None]:
    with altered_constants(constants):
        return importlib.import_module("warmbase.environments.uncertainty.sensitivity").figures_of(document, "blue")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "judgement", [*JUDGEMENTS, *planning_of(ENGINES["trino"]).JUDGEMENTS[1:]], ids=lambda judgement: judgement.name
)
def test_the_constants_lie_in_the_range_of_their_judgement(judgement: Judgement) -> None:
    low, high = judgement.at(judgement.low), judgement.at(judgement.high)
    for path in judgement.constants:
        module, _, constant = path.rpartition(".")
        value = getattr(importlib.import_module(module), constant)
        assert low[path] <= value <= high[path]
        assert low[path] < high[path]


def test_a_plan_with_the_values_of_the_source_is_the_plan(prod: Document) -> None:
    constants = {
        path: getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
        for judgement in JUDGEMENTS
        for path in judgement.constants
    }
    assert altered_figures(prod, constants) == figures_of(prod, "blue")


@pytest.mark.parametrize(
    ("constant", "source", "value"),
    [
        ("warmbase.sizing.service.inputs.UTILISATION", "0.70", 0.6),
        # A default of a class, which is fixed when its module is imported.
        ("warmbase.sizing.service.resource.DISK_LATENCY_SECONDS", "1e-3", 2e-3),
        # Two other constants follow from it.
        ("warmbase.sizing.workload.workload.ROW_KEY_BYTES", "24", 96),
    ],
)
def test_the_figures_are_those_of_an_edited_source(
    constant: str, source: str, value: float, prod: Document, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "warmbase", tmp_path / "warmbase", ignore=shutil.ignore_patterns("__pycache__"))
    module, _, name = constant.rpartition(".")
    file = tmp_path / f"{module.replace('.', '/')}.py"
    line = rf"^({name}: Final = ){re.escape(source)}"
    text, count = re.subn(line, rf"\g<1>{value}", file.read_text(), flags=re.MULTILINE)
    assert count == 1
    file.write_text(text)
    (tmp_path / "figures.py").write_text(SCRIPT)
    edited = subprocess.run(
        [sys.executable, "figures.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert [float(figure) for figure in edited.stdout.split()] == list(altered_figures(prod, {constant: value}))
    assert altered_figures(prod, {constant: value}) != figures_of(prod, "blue")


def test_the_process_keeps_its_own_modules(prod: Document) -> None:
    before = {name: module for name, module in sys.modules.items() if name.startswith("warmbase.sizing")}
    figures = figures_of(prod, "blue")
    altered_figures(prod, {"warmbase.sizing.service.inputs.UTILISATION": 0.5})
    assert {name: module for name, module in sys.modules.items() if name.startswith("warmbase.sizing")} == before
    assert figures_of(prod, "blue") == figures


def test_a_constant_that_does_not_exist_is_refused() -> None:
    with (
        pytest.raises(KeyError, match=r"sizing\.workload\.read has no constant NOTHING"),
        altered_constants({"warmbase.sizing.workload.read.NOTHING": 1.0}),
    ):
        importlib.import_module("warmbase.sizing.workload.read")
