"""Fixtures that tests share: one synthesis of each environment, and golden files."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from hypothesis import HealthCheck, settings

import warmbase
from tests.tiers import follows_profile, within_budget
from warmbase.configurations.launch import Launch, classifications
from warmbase.environments import planning
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Requirements, World

PROJECT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"

# `make test-all` tries each law on more examples than a developer waits for: --hypothesis-profile ci. Both try the same
# examples each time, so that no change fails for a fault that it did not cause; `make fuzz` draws new ones. How long
# a law is tried at most is in tests/tiers.py. No law fails because it, or the making of its examples, takes long.
_TIMELESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _TIMELESS, max_examples=100, derandomize=True)
settings.register_profile("quick", _TIMELESS, max_examples=8, derandomize=True)
settings.register_profile("fuzz", _TIMELESS, max_examples=2_000)
settings.load_profile("quick")

# Processes that tests start import this checkout, even where .venv is that of another one.
os.environ["PYTHONPATH"] = str(PROJECT)

# Support ends and prices age, but no test may depend on the day.
os.environ["SOURCE_DATE_EPOCH"] = str(int(datetime(2026, 11, 23, tzinfo=UTC).timestamp()))

# A shell without job control starts background jobs with Ctrl-C ignored, and processes that tests start inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Templates = Mapping[str, Mapping[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files with what is made now")
    parser.addoption(
        "--inputs",
        type=int,
        help="how many random inputs a test tries, such as damaged store files or states of a page",
    )


def pytest_sessionstart() -> None:
    """Refuses to run where the tests of this checkout would test the code of another."""
    imported = Path(warmbase.__file__).parents[1]
    if imported != PROJECT:
        pytest.exit(f"{PROJECT} would test {imported}\n  fix: run ./setup.sh in {PROJECT}", returncode=2)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks the laws that `make test-all` tries again, on more examples."""
    if isinstance(item, pytest.Function) and follows_profile(item.obj):
        item.add_marker("more_examples")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with what takes longest, so that no worker waits for it in the end: the CDK, installations and pages."""
    items.sort(key=lambda item: item.get_closest_marker("e2e") is None and item.path.parent != Path(__file__).parent)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Tries a law for as long as its profile allows."""
    with within_budget(pyfuncitem.obj) if follows_profile(pyfuncitem.obj) else nullcontext():
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _one_search_for_the_same_plan() -> Iterator[None]:
    """Search once for the plan of each environment: the same input gives the same plan.

    Tests that change a constant of `sizing` call `warmbase.sizing.calculator.plan`, which this leaves alone.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("plan", "alternatives"):
            patch.setattr(planning, name, searched_once(getattr(planning, name)))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_reading_of_the_models_of_aws() -> Iterator[None]:
    """Read the models of the services of AWS once: reading them takes most of the time that a client takes to make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield


def searched_once(search: Callable[..., object]) -> Callable[..., object]:
    """Return a function that searches once for each pair of requirements and world."""
    answers: dict[bytes, object] = {}

    def answer(requirements: Requirements, world: World, *plan: Plan) -> object:
        question = pickle.dumps((requirements, world))
        if question not in answers:
            answers[question] = search(requirements, world, *plan)
        return answers[question]

    return answer


@cache
def launch_of(name: str) -> Launch:
    """Environment, plan and classifications of the active cluster."""
    environment = read_environment(name)
    plan = plan_of(environment, environment.active)
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))


@pytest.fixture(scope="session")
def launches() -> Callable[[str], Launch]:
    return launch_of


@pytest.fixture(scope="session")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the cloud assembly of an environment, synthesised once in the whole run by the worker that asks first."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    @cache
    def synthesised(name: str) -> Path:
        from warmbase import app  # noqa: PLC0415 - aws_cdk is loaded only by the tests that need it

        directory = shared / name / "cdk.out"
        directory.parent.mkdir(exist_ok=True)
        with (directory.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (directory / "manifest.json").exists():
                app.environment_app(name, str(directory)).synth()
        return directory

    return synthesised


@pytest.fixture(scope="session")
def templates(assemblies: Callable[[str], Path]) -> Callable[[str], Templates]:
    """Return the templates of an environment by stack name."""

    @cache
    def read(name: str) -> Templates:
        files = sorted(assemblies(name).glob("*.template.json"))
        return {file.name.removesuffix(".template.json"): json.loads(file.read_text()) for file in files}

    return read


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Holds a text against tests/golden/NAME; with --update-golden writes it there instead."""

    def same(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no {file}; pytest --update-golden writes it"
        assert text == file.read_text(encoding="utf-8")

    return same
