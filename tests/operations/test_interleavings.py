"""Two operators with a checkout each: every pair of commands, with the second run at every place in the first.

In any order, no change that was reported as done is lost, no record names another cluster, no cluster starts that
nobody requested, and there are never two writers.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws
from msgspec import Struct, field

from local_aws.extension import install
from tests.operations.killable import Killed
from tests.operations.mocked_aws import Snapshot, clients
from tests.operations.operators import SETTINGS, Outcome, World, changed_text, checkout, deployed_world, install_world
from warmbase.operations.aws.lock import current_lock

COMMANDS = {
    "deploy": ("deploy", "ENV"),
    "reconfigure": ("reconfigure", "ENV"),
    "teardown": ("teardown", "ENV", "blue"),
    "destroy": ("destroy", "ENV"),
    "pin": ("pin", "ENV"),
    "claim --take": ("claim", "ENV", "--take"),
}
STATES = ("running", "ended", "torn down")
"""The environment before the first command: its cluster runs, has ended by itself, or was torn down."""
PLACES = int(os.environ.get("PLACES", "3"))
"""At how many places of a command another one is run, in each manner. `PLACES=99 pytest` runs it at every place."""
MANNERS = ("beside", "killed", "zombie")
"""The first command continues afterwards; or is killed, unlocked and run again; or is unlocked while it runs."""


class Start(Struct, dict=True):
    """The account and the checkouts before the first command."""

    account: Snapshot
    directory: Path


class Starts:
    """The states of the environment, each of which is created once for the module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.alone: dict[tuple[str, str], Case] = {}
        self._made: dict[str, Start] = {}

    def prepare(self, state: str) -> None:
        """Create the state if it does not exist yet. No mocked AWS may be active."""
        if state not in self._made:
            self._made[state] = self._start(state)

    def restore(self, state: str, directory: Path) -> World:
        """Return a world in that state, in the mocked AWS that is active."""
        self._made[state].account.replace()
        shutil.copytree(self._made[state].directory, directory, dirs_exist_ok=True)
        return World(directory)

    def _start(self, state: str) -> Start:
        home = self.directory / state.replace(" ", "-")
        with mock_aws(), pytest.MonkeyPatch.context() as patch:
            here = deployed_world(home)
            world = World(home)
            install_world(world, patch)
            for name in SETTINGS:
                checkout(world, name, here, changed_text(name))
            if state != "running":
                world.end_cluster()
            if state == "torn down":
                [identity] = [cluster["Id"] for cluster in clients().emr.list_clusters()["Clusters"]]
                done = world.run("A", "teardown", "ENV", "blue", "--yes", "--accept-loss", identity)
                assert done.code == 0, done.text
                shutil.rmtree(world.file("B").with_suffix(".launch"))
            return Start(Snapshot.take(), home)


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> Starts:
    install()
    return Starts(tmp_path_factory.mktemp("starts"))


class Case(Struct, dict=True):
    """One interleaving: the place at which the second command runs, and the way in which the first continues."""

    place: int | str | None
    manner: str
    reached: list[str]
    locked: list[int] = field(default_factory=list)
    """The places at which the first command holds the lock."""
    first: Outcome | None = None
    second: Outcome | None = None
    asked: bool = False


def words(world: World, state: str, command: str) -> tuple[str, ...]:
    """Return the arguments of a command in that state."""
    if command == "teardown" and state == "ended":
        [identity] = [cluster["Id"] for cluster in world.aws.emr.list_clusters()["Clusters"]][:1]
        return (*COMMANDS[command], "--accept-loss", identity)
    return COMMANDS[command]


def interleave(world: World, state: str, pair: tuple[str, str], case: Case) -> Outcome:
    """Run the first command, with the second at the place of the case; return the first one's last outcome."""
    first, second = (words(world, state, command) for command in pair)

    def pause(place: str) -> None:
        if world.active != ["A"]:
            return
        here = case.place in {len(case.reached), place}
        if current_lock(world.aws, "dev") is not None:
            case.locked.append(len(case.reached))
        case.reached.append(place)
        if not here:
            return
        if case.manner == "killed":
            world.is_dead = True
            raise Killed
        if case.manner == "zombie":
            world.unlock("B")
        case.asked = "question" in case.reached
        case.second = world.run("B", *second)
        reported(world, pair[1], "B", case.second)
        world.check(f"B's {pair[1]}")

    world.pause = pause
    outcome = world.run("A", *first)
    if outcome.code is None:
        world.unlock("B")
        case.second = world.run("B", *second)
        reported(world, pair[1], "B", case.second)
        world.check(f"B's {pair[1]}")
        outcome = world.run("A", *first)
    case.first = outcome
    reported(world, pair[0], "A", outcome)
    world.check(f"A's {pair[0]}")
    return outcome


def reported(world: World, command: str, name: str, outcome: Outcome) -> None:
    """Record each result that a command reports although it is not true."""
    running = world.running()
    if outcome.code != 0:
        if "fix: " not in outcome.text:
            world.violations.append(f"{name}'s {command} names no way on: {outcome.text}")
        return
    if command in {"deploy", "reconfigure"}:
        key, value = SETTINGS[name]
        if not running or any(group.get(key) != value for group in world.settings()):
            world.violations.append(f"{name}'s {command} reports a change that is not in force")
    if command in {"deploy", "reconfigure", "pin"} and world.record(name) not in running:
        world.violations.append(f"{name}'s {command} left a record of {world.record(name)}; {running} runs")
    if command in {"teardown", "destroy"} and running:
        world.violations.append(f"{name}'s {command} is done, and {running} runs")


def run_case(starts: Starts, state: str, pair: tuple[str, str], case: Case, home: Path) -> list[str]:
    """Run one interleaving in the mocked AWS that is active, and return each law that it broke."""
    with pytest.MonkeyPatch.context() as patch:
        world = starts.restore(state, home)
        install_world(world, patch)
        outcome = interleave(world, state, pair, case)
        done = case.second is not None and case.second.code == outcome.code == 0
        if done and case.asked and undoes(world, pair):
            world.violations.append("A undid a change of B that A was never shown")
        if current_lock(world.aws, "dev") is not None:
            world.violations.append("the lock is left behind")
    shutil.rmtree(home, ignore_errors=True)
    return [f"{state}: {' / '.join(pair)}, {case.manner} at {case.place}: {law}" for law in world.violations]


def undoes(world: World, pair: tuple[str, str]) -> bool:
    """Return whether a setting that B applied is not in force, although both commands tune the running cluster."""
    key, value = SETTINGS["B"]
    tunes = set(pair) <= {"deploy", "reconfigure"} and bool(world.running())
    return tunes and any(group.get(key) != value for group in world.settings())


def every_case(starts: Starts, state: str, pair: tuple[str, str], directory: Path) -> Iterator[str]:
    """Run the pair at its places in each manner, and yield each law that was broken."""
    starts.prepare(state)
    with mock_aws():
        if (state, pair[0]) not in starts.alone:
            starts.alone[state, pair[0]] = Case(None, "beside", [])
            yield from run_case(starts, state, pair, starts.alone[state, pair[0]], directory / "alone")
        alone = starts.alone[state, pair[0]]
        for manner in MANNERS:
            for place in share(places(alone, manner), state, pair):
                case = Case(place, manner, [])
                yield from run_case(starts, state, pair, case, directory / f"{manner}-{place}")
                assert case.second is not None
                COUNTS[state, manner] += 1


def places(alone: Case, manner: str) -> list[int]:
    """Return the places in a command at which the other command is run.

    While a command holds the lock, the other one is refused at every place, so the first and the last place are enough.
    """
    every = range(len(alone.reached))
    if manner != "beside":
        return list(every)
    return [place for place in every if place not in alone.locked[1:-1]]


def share(every: list[int], state: str, pair: tuple[str, str]) -> list[int]:
    """Return the places that this pair tries, evenly spread over the command.

    The next second command, and the next state, try other places: the six second commands together try all.
    """
    step = max(1, -(-len(every) // PLACES))
    turn = list(COMMANDS).index(pair[1]) + 2 * STATES.index(state)
    return every[turn % step :: step]


COUNTS: Counter[tuple[str, str]] = Counter()
PAIRS = [(first, second) for first in COMMANDS for second in COMMANDS]
QUICK = {
    ("deploy", "reconfigure"): "is out of date, so nothing was changed",
    ("reconfigure", "reconfigure"): "is out of date, so nothing was changed",
    ("reconfigure", "teardown"): "could not read cluster blue",
    ("teardown", "pin"): "is gone; remove it from",
}
"""Pairs, with the answer of the first command if the second runs while the first waits for a confirmation."""


@pytest.fixture(scope="module", autouse=True)
def _report(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print how many interleavings were run, unless this is a worker process, which has no terminal."""
    yield
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and COUNTS:
        reporter.write_line(f"\n{COUNTS.total()} interleavings: {dict(COUNTS)}")


@pytest.mark.parametrize("pair", PAIRS, ids=" / ".join)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.thorough
def test_no_order_of_two_commands_loses_anything(
    state: str, pair: tuple[str, str], starts: Starts, tmp_path: Path
) -> None:
    assert list(every_case(starts, state, pair, tmp_path)) == []


@pytest.mark.parametrize(("pair", "answer"), QUICK.items(), ids=[" / ".join(pair) for pair in QUICK])
@pytest.mark.thorough
def test_what_another_did_during_the_question_is_noticed(
    pair: tuple[str, str], answer: str, starts: Starts, tmp_path: Path
) -> None:
    starts.prepare("running")
    with mock_aws():
        case = Case("question", "beside", [])
        assert run_case(starts, "running", pair, case, tmp_path / "case") == []
    assert case.first is not None
    assert case.second is not None
    assert case.second.code == 0, case.second.text
    assert answer in case.first.text


def test_a_command_that_lost_its_lock_stops(starts: Starts, tmp_path: Path) -> None:
    starts.prepare("running")
    with mock_aws():
        case = Case("core group: apply today's settings", "zombie", [])
        assert run_case(starts, "running", ("reconfigure", "pin"), case, tmp_path / "case") == []
    assert case.first is not None
    assert case.second is not None
    assert case.second.code == 0, case.second.text
    assert "is no longer locked by this command" in case.first.text
