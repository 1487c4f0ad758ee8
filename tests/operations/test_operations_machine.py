"""Commands, kills and foreign actions in any order: nothing is lost, and the messages always name a way back.

`OPERATIONS=5000 pytest tests/operations/test_operations_machine.py` runs that many steps; `OPERATIONS_SEED` repeats a
run.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from moto import mock_aws

from local_aws.extension import install
from tests.operations.killable import Killed
from tests.operations.operators import Outcome, install_world
from tests.operations.test_interleavings import COMMANDS, STATES, Starts, reported
from warmbase.operations.aws.lock import current_lock

STEPS = int(os.environ.get("OPERATIONS", "300"))
SEED = int(os.environ.get("OPERATIONS_SEED", random.randrange(2**32) if "OPERATIONS" in os.environ else 0))
LENGTH = 20
WAYS = 12  # judgement: terminate, clear away, take the claim, unlock, deploy, and each of them refused once
MOST_PLACES = 14
OPERATORS, NAMES = st.sampled_from("AB"), st.sampled_from(sorted(COMMANDS))
COMMAND = re.compile(r"warmbase (teardown|pin|unlock|claim|deploy|destroy)\b([^;,\n]*)")
OUTCOMES: Counter[str] = Counter()
"""How often each command ended with each exit code."""
LOSS, TERMINATE = re.compile(r"--accept-loss (j-\w+)"), re.compile(r"terminate (j-\w+) first")


@cache
def starts() -> Starts:
    """Return the states that an example can begin in."""
    install()
    return Starts(Path(tempfile.mkdtemp(prefix="warmbase-tests-")))


class Operations(RuleBasedStateMachine):
    """Two operators, and other people and tools that change the account."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="warmbase-tests-"))
        self.patch = pytest.MonkeyPatch()
        self.aws = mock_aws()

    @initialize(state=st.sampled_from(STATES))
    def begin(self, state: str) -> None:
        starts().prepare(state)
        self.aws.start()
        self.world = starts().restore(state, self.home / "world")
        install_world(self.world, self.patch)

    @rule(name=OPERATORS, command=NAMES)
    def run_command(self, name: str, command: str) -> None:
        self.run(name, *COMMANDS[command])

    @rule(name=OPERATORS, command=NAMES, place=st.integers(0, MOST_PLACES))
    def kill_command(self, name: str, command: str, place: int) -> None:
        reached: list[str] = []

        def pause(title: str) -> None:
            reached.append(title)
            if len(reached) > place:
                self.world.is_dead = True
                raise Killed

        self.world.pause = pause
        self.run(name, *COMMANDS[command])
        self.world.pause = lambda _: None

    @rule(name=OPERATORS)
    def unlock(self, name: str) -> None:
        self.world.unlock(name)

    @rule()
    def terminate_in_the_console(self) -> None:
        self.world.end_cluster()

    @rule()
    def reconfigure_with_another_tool(self) -> None:
        for identity in self.world.running():
            for group in self.world.aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]:
                setting = {"Classification": "hbase-site", "Properties": {"hbase.client.pause": "7"}}
                change: Any = {"InstanceGroupId": group["Id"], "ReconfigurationType": "MERGE"}
                change["Configurations"] = [setting]
                self.world.aws.emr.modify_instance_groups(ClusterId=identity, InstanceGroups=[change])

    @rule()
    def steal_the_claim(self) -> None:
        """Write a claim for a cluster of another tool, which does not check who has the claim."""
        flow: Any = self.world.aws.emr
        group = {"InstanceRole": "MASTER", "InstanceType": "m7g.xlarge", "InstanceCount": 1}
        cluster = flow.run_job_flow(
            Name="another tool",
            ReleaseLabel="emr-7.12.0",
            JobFlowRole="node",
            ServiceRole="service",
            Instances={"KeepJobFlowAliveWhenNoSteps": True, "InstanceGroups": [group]},
        )["JobFlowId"]
        self.world.write_claim(cluster)
        self.world.is_stolen = True

    def run(self, name: str, *words: str) -> Outcome:
        """Run a command, and check the laws that always hold."""
        world, running, record = self.world, self.world.running(), self.world.record(name)
        outcome = world.run(name, *words)
        note(f"{name}: {' '.join(words)} -> {outcome.code} {outcome.text[-400:]}")
        OUTCOMES[f"{words[0]} {'killed' if outcome.code is None else outcome.code}"] += 1
        if outcome.code is not None:
            reported(world, words[0], name, outcome)
        world.check(f"{name}'s {words[0]}")
        if record in running and record in world.running() and world.record(name) != record:
            world.violations.append(f"{name}'s {words[0]} lost the record of {record}, which runs")
        assert world.violations == [], f"{world.violations}, OPERATIONS_SEED={SEED}"
        return outcome

    def teardown(self) -> None:
        """Follow the messages until a deployment is done."""
        try:
            if hasattr(self, "world"):
                self.follow_messages()
        finally:
            self.patch.undo()
            if hasattr(self, "world"):
                self.aws.stop()
            shutil.rmtree(self.home, ignore_errors=True)

    def follow_messages(self) -> None:
        words: tuple[str, ...] = ("deploy", "ENV")
        path = []
        for _ in range(WAYS):
            path.append(" ".join(words))
            outcome = self.run("A", *words)
            if outcome.code == 0 and words[0] == "deploy":
                assert current_lock(self.world.aws, "dev") is None
                return
            words = ("deploy", "ENV") if outcome.code == 0 else self.next_words(outcome.text)
        raise AssertionError(f"the messages lead in a circle: {path}\n{outcome.text}\nOPERATIONS_SEED={SEED}")

    def next_words(self, text: str) -> tuple[str, ...]:
        """Do what the message asks a person to do, and return the command that it names."""
        fixes = "\n".join(line for line in text.splitlines() if line.strip().startswith("fix: "))
        if loss := LOSS.search(fixes):
            return ("teardown", "ENV", "blue", "--accept-loss", loss[1])
        if foreign := TERMINATE.search(fixes):
            self.world.aws.emr.terminate_job_flows(JobFlowIds=[foreign[1]])
            return ("deploy", "ENV")
        named = COMMAND.search(fixes)
        if named is None or named[1] == "unlock":
            self.world.unlock("A")
            return ("deploy", "ENV")
        options = ("blue",) if named[1] == "teardown" else ("--take",) if "--take" in named[2] else ()
        return (named[1], "ENV", *options)


@pytest.mark.thorough
def test_in_any_order_nothing_is_lost_and_a_way_back_is_named(request: pytest.FixtureRequest) -> None:
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{STEPS} steps, OPERATIONS_SEED={SEED}")
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        seed(SEED)(Operations),
        settings=settings(
            max_examples=max(1, STEPS // LENGTH),
            stateful_step_count=LENGTH,
            deadline=None,
            suppress_health_check=checks,
            database=None,
        ),
    )
    if reporter is not None:
        reporter.write_line(f"{OUTCOMES.total()} commands: {dict(sorted(OUTCOMES.items()))}")
