"""Stage 4: a second cluster with three primary nodes over the same root must refuse to start, and is removed again."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from environments.names import cluster_stack, emr_cluster_name
from environments.reader import read_environment
from operations.aws_errors import AGAIN, translated
from operations.boost_state import moment
from operations.canary.backstop import SECOND_MINUTES, Backstop
from operations.canary.launch import synthesise
from operations.canary.run import SECOND, Canary, StageOutcome, is_interruption
from operations.change_set import deploy_stack
from operations.claims import claim_of
from operations.deployed_stack import delete_stack, status_of
from operations.failed_launch import NEVER_SERVED, end_failed_launch, find_failed_launches
from operations.verification.check import Check, CheckResult
from sizing.problem import OperationFailed, Refused

NEW: Final = frozenset({None, "REVIEW_IN_PROGRESS"})
CLAIM: Final = "claim-root"
"""The name of the bootstrap action that refuses."""
FAILED_ACTION: Final = re.compile(r"bootstrap action (\d+)")
"""EMR: `On the master instance (i-…), bootstrap action 2 returned a non-zero return code`."""
SIGHTING_SECONDS: Final = 15.0  # judgement: EMR needs minutes for each state of a launch
SECOND_CLUSTER: Final = Check(
    "second cluster",
    "A cluster with three primaries whose claim fails keeps its nodes",
    "protected, with its nodes, in a state that warmbase recognises",
    "correct NEVER_SERVED in operations/failed_launch.py, and what docs/deploy.md says of such a cluster",
)
HEADLINES: Final = {
    True: "was refused",
    False: "was NOT refused",
    None: "did not start, but nothing shows that its claim refused it",
}


class Sighting(Struct, frozen=True, kw_only=True):
    """How the second cluster looked at some moment."""

    cluster: str
    state: str
    reason: str
    is_protected: bool
    nodes: int
    actions: tuple[str, ...]

    @property
    def keeps_nodes(self) -> bool:
        """Return whether a refused cluster is protected and has its nodes, in a state that a failed launch may have."""
        return self.is_protected and self.nodes > 0 and self.state in NEVER_SERVED

    @property
    def text(self) -> str:
        """Return the sighting in words."""
        protection = "protected" if self.is_protected else "not protected"
        return f"{self.cluster} is {self.state}, {protection}, {self.nodes} nodes; {self.reason}"


def refusal(canary: Canary) -> StageOutcome:
    """Launch the second cluster behind schedules of its own, say what became of it, and remove it.

    Raises Refused where the first cluster, whose claim must refuse it, ends too soon.
    """
    aws, name, first = canary.aws, canary.environment.name, canary.running_cluster()
    stack, backstop = cluster_stack(name, SECOND), Backstop(aws=aws, environment=name, cluster=SECOND)
    with translated("could not read what a second cluster left", AGAIN):
        status = status_of(aws, stack)
    outcome = f"an earlier attempt ended {status}"
    sightings: list[Sighting] = []
    if status in NEW:
        _refuse_late(canary)
        with (
            canary.progress.step(f"deploy {stack}, which its claim must refuse") as say,
            canary.work(canary.run.second_file) as work,
        ):
            say(backstop.arm(SECOND_MINUTES))
            synthesise(work, say)
            with _watched(canary, sightings):
                try:
                    outcome = deploy_stack(work.assembly, stack, say)
                except OperationFailed as failed:
                    if is_interruption(failed):
                        raise
                    outcome = failed.summary
            say(outcome)
    with translated("could not read what became of the second cluster", AGAIN):
        results = tuple(_observed(canary, stack, first.id, sightings))
    second = read_environment(str(canary.run.second_file))
    remnants = find_failed_launches(aws, second)
    for launch in remnants:
        canary.carry_out(end_failed_launch(aws, second, launch))
    with canary.progress.step("make sure that nothing of it is left") as say, translated("could not remove it", AGAIN):
        backstop.end(say)
        say(delete_stack(aws, stack, say))
    headline = f"a second cluster {HEADLINES[results[0].good]}, and was removed"
    lines = (f"{result.check}: {result.found}" for result in results)
    return StageOutcome(lines=(headline, outcome, *lines, *(launch.text for launch in remnants)), results=results)


def _refuse_late(canary: Canary) -> None:
    """Raise Refused where the backstop of the first cluster fires while the second one would still be needed."""
    with translated("could not read the schedules of the backstop", AGAIN):
        at = Backstop(aws=canary.aws, environment=canary.environment.name).fires_at()
    if at is None or at < time.time() + 60 * SECOND_MINUTES:
        raise Refused.of(
            where=f"canary {canary.environment.name}",
            what="has no time for a second cluster",
            why=f"every cluster ends at {moment(at)}" if at else "no schedule is ahead",
            fix="finish this run with --stages 5; in another run, use --stages 0,1,4,5",
        )


@contextmanager
def _watched(canary: Canary, sightings: list[Sighting]) -> Iterator[None]:
    """Note how the second cluster looks while CloudFormation waits: before the wait ends, its backstop may end it."""
    ended = Event()

    def watch() -> None:
        while not ended.wait(SIGHTING_SECONDS):
            with suppress(ClientError, BotoCoreError, OperationFailed):
                if (sighting := _sight(canary)) is not None and sighting not in sightings:
                    sightings.append(sighting)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _sight(canary: Canary) -> Sighting | None:
    """Return how the latest second cluster looks; None where there is none."""
    emr, name = canary.aws.emr, emr_cluster_name(canary.environment.name, SECOND)
    clusters: Any = [
        emr.describe_cluster(ClusterId=cluster["Id"])["Cluster"]
        for page in emr.get_paginator("list_clusters").paginate()
        for cluster in page["Clusters"]
        if cluster["Name"] == name
    ]
    latest = max(clusters, key=lambda one: one["Status"]["Timeline"]["CreationDateTime"], default=None)
    if latest is None:
        return None
    identity = latest["Id"]
    nodes = emr.get_paginator("list_instances").paginate(ClusterId=identity, InstanceStates=["RUNNING"])
    return Sighting(
        cluster=identity,
        state=latest["Status"]["State"],
        reason=latest["Status"].get("StateChangeReason", {}).get("Message") or "no reason",
        is_protected=latest["TerminationProtected"],
        nodes=sum(len(page["Instances"]) for page in nodes),
        actions=tuple(one["Name"] for one in emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]),
    )


def _observed(canary: Canary, stack: str, first: str, sightings: Sequence[Sighting]) -> Iterator[CheckResult]:
    """Judge by the first sighting at which EMR gave a reason: whatever came later may be our own doing."""
    claim = claim_of(canary.aws, canary.environment.root)
    holder = claim.cluster if claim else "nobody"
    check = Check("claim", "", first, "do not use this account until the claim is understood")
    latest = _sight(canary)
    if latest is None:
        yield check.result(holder, good=None if holder == first else False)
        return
    status = status_of(canary.aws, stack)
    refused = next((one for one in (*sightings, latest) if is_refused(one.reason, one.actions)), latest)
    has_started = status == "CREATE_COMPLETE" or any(
        one.state in {"RUNNING", "WAITING"} and not is_refused(one.reason, one.actions) for one in (*sightings, latest)
    )
    good = False if has_started or holder != first else is_refused(refused.reason, refused.actions)
    yield check.result(f"{holder}; the second cluster is {refused.state}: {refused.reason}", good=good)
    yield SECOND_CLUSTER.result(
        f"{refused.text}; its stack is {status}", good=refused.keeps_nodes if good and latest.is_protected else None
    )


def is_refused(reason: str, actions: Sequence[str]) -> bool | None:
    """Return whether EMR names the claim as what failed; None for another reason, such as a quota or capacity."""
    failed = FAILED_ACTION.search(reason)
    named = failed is not None and list(actions[int(failed[1]) - 1 : int(failed[1])]) == [CLAIM]
    return True if named else None
