"""Stages 1, 2 and 4: the canary's environment is deployed behind its backstop, and its nodes are inspected.

In stage 4, a second cluster with three primary nodes over the same root must refuse to start. It is removed again.
"""

from __future__ import annotations

import re
import shlex
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from warmbase.environments.names import backstop_stack, cluster_stack, emr_cluster_name
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.node_command import run_on_nodes
from warmbase.operations.aws.progress import Stage
from warmbase.operations.canary.backstop import MINUTES, SECOND_MINUTES, Backstop
from warmbase.operations.canary.run import FIRST, SECOND, Canary, StageOutcome, is_interruption
from warmbase.operations.cluster.alarms import try_alarm
from warmbase.operations.cluster.boost import moment
from warmbase.operations.cluster.claims import claim_of
from warmbase.operations.cluster.failed_launch import NEVER_SERVED, end_failed_launch, find_failed_launches
from warmbase.operations.cluster.stack import delete_stack, running_nodes, status_of
from warmbase.operations.deploy.change_set import NO_STACK, deploy_stack
from warmbase.operations.deploy.deployment import deployment, proposal
from warmbase.operations.verify.check import Check, CheckResult
from warmbase.operations.verify.services import alarm_test_results
from warmbase.operations.verify.verification import verification

HARVEST: Final = "/usr/local/lib/warmbase/harvest-node.sh"
"""Where the first bootstrap action of a canary leaves its script."""
HARVEST_SECONDS: Final = 300.0  # judgement: a few hundred small files
ARCHIVE: Final = re.compile(r"(?P<node>.+?)-(?P<moment>bootstrap|minute-\d+|installed)\.tar\.gz$")
UNANSWERED: Final = "local AWS: not asked"
"""The stand-ins of the local AWS write this in place of an answer of a node."""
Archives = Mapping[str, Mapping[str, str]]
"""The text of each harvested file, by the name of its archive and the path in it."""


class HarvestCheck(NamedTuple):
    """A pattern that a harvested file contains, or must not contain, if a row of docs/unconfirmed.md is right."""

    check: str
    row: str
    file: str
    pattern: str
    todo: str
    absent: bool = False


HARVESTED: Final = (
    HarvestCheck(
        "job-flow.json",
        "EMR's `job-flow.json` has `jobFlowCreationInstant`",
        "files/mnt/var/lib/info/job-flow.json",
        r'"jobFlowCreationInstant"\s*:\s*\d{13}\b',
        "correct the time of a launch in bootstrap-actions/programs/claim_root.py",
    ),
    HarvestCheck(
        "Python at bootstrap",
        "Python 3.9 is `/usr/bin/python3` while bootstrap actions run",
        "commands/python",
        r"Python 3\.(9|\d\d)",
        "adapt the programs in bootstrap-actions/programs to this version",
    ),
    HarvestCheck(
        "ZooKeeper of HBase",
        "HBase on EMR does not start ZooKeeper itself",
        "files/etc/hbase/conf/hbase-env.sh",
        r"HBASE_MANAGES_ZK=\"?false",
        "correct rule WB423",
    ),
    HarvestCheck(
        "EMR's coprocessors",
        "EMR itself sets no coprocessor in `hbase.coprocessor.master.classes`",
        "files/etc/hbase/conf/hbase-site.xml",
        r"hbase\.coprocessor\.(master|region|regionserver)\.classes",
        "render EMR's coprocessors beside ours",
        absent=True,
    ),
)
"""The checks of the harvest; people read most of the rest."""


def launch_cluster(canary: Canary) -> StageOutcome:
    """Deploy the environment, once schedules exist that end its cluster. Raises as a deployment does."""
    name = canary.environment.name
    backstop = Backstop(aws=canary.aws, environment=name)
    with canary.assembly(canary.run.file) as assembly:
        changes = proposal(assembly, canary.progress, dry_run=False)

        def steps() -> Iterator[Stage]:
            stack = backstop_stack(name)
            yield Stage(title=f"deploy {stack}", act=lambda say: deploy_stack(assembly, stack, say))
            yield Stage(title="schedule the end of the clusters", act=lambda _: backstop.arm(MINUTES))
            yield from deployment(assembly, changes)

        canary.carry_out(steps())
    cluster = canary.running_cluster()
    archives = _fetch_harvest(canary, cluster.id)
    nodes = {match["node"] for name in archives if (match := ARCHIVE.match(name))}
    headline = f"{cluster.state}; harvested {len(nodes)} nodes ({sum(map(len, archives.values()))} files)"
    return StageOutcome(lines=(headline,), results=tuple(_harvest_results(archives)))


def inspect_cluster(canary: Canary) -> StageOutcome:
    """Verify the cluster, and harvest what exists on its nodes since HBase is installed."""
    aws, environment, cluster = canary.aws, canary.environment, canary.running_cluster().id
    with canary.progress.step("verify the cluster") as say:
        results = list(verification(aws, canary.planned.launch, say))
        say(f"{len(results)} checks")
    lines = list[str]()
    with canary.progress.step("harvest the nodes again") as say:
        try:
            with translated("could not list the nodes", AGAIN):
                nodes = running_nodes(aws, cluster)
            text = shlex.join([HARVEST, f"--log-bucket={canary.log_bucket()}", "--moment=installed"])
            run_on_nodes(aws, dict.fromkeys(nodes, text), HARVEST_SECONDS)
            say(f"{len(nodes)} nodes")
        except OperationFailed as failed:
            lines.append(f"not every node was harvested again: {failed.summary}")
    if environment.alarm_email is not None:
        with canary.progress.step("test one alarm, which notifies you twice") as say:
            tested = alarm_test_results(try_alarm(aws, environment.name, FIRST, say))
            results += tested
            say("; ".join(result.found for result in tested))
    archives = _fetch_harvest(canary, cluster)
    results += _harvest_results(archives)
    lines += _notes(archives)
    differing = [result for result in results if result.good is False]
    good = sum(result.good is True for result in results)
    headline = f"{good} of {len(results)} checks as documented, {len(differing)} differ"
    more = [f"{result.check}: expected {result.expected}, found {result.found}" for result in differing]
    return StageOutcome(lines=(headline, *more, *lines), results=tuple(results))


def _fetch_harvest(canary: Canary, cluster: str) -> Archives:
    """Return what the nodes of a cluster have uploaded so far, and keep the archives in the directory of the run."""
    aws, bucket, prefix = canary.aws, canary.log_bucket(), f"emr/{cluster}/harvest/"
    archives: dict[str, dict[str, str]] = {}
    with translated("could not read the harvest", AGAIN):
        for page in aws.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", ()):
                name = entry["Key"].removeprefix(prefix)
                archive = aws.s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
                file = canary.run.directory / "harvest" / cluster / name.replace("/", "-")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive)
                with tarfile.open(fileobj=BytesIO(archive)) as members:
                    archives[name] = {
                        member.name.removeprefix("./"): content.read().decode(errors="replace")
                        for member in members
                        if member.isfile() and (content := members.extractfile(member)) is not None
                    }
    return archives


def _harvest_results(archives: Archives) -> Iterator[CheckResult]:
    for one in HARVESTED:
        texts = [files[one.file] for files in archives.values() if UNANSWERED not in files.get(one.file, UNANSWERED)]
        matches = [re.search(one.pattern, text) is not None for text in texts]
        good = all(match != one.absent for match in matches) if matches else None
        text = f"{sum(matches)} of {len(matches)} files" if matches else "no node has such a file yet"
        expected = f"{'no ' if one.absent else ''}{one.pattern} in {one.file.partition('/')[2]}"
        yield Check(one.check, one.row, expected, one.todo).result(text, good=good)


def _notes(archives: Archives) -> Iterator[str]:
    """Yield what no check expects, for people: the supervision of HBase, and another region in its log."""
    for name, files in archives.items():
        units = files.get("commands/units", "")
        for unit in re.findall(r"^Id=(hbase-\S+)$", units, re.MULTILINE):
            part = units.partition(f"Id={unit}")[0].rpartition("\n\n")[2] + units.partition(f"Id={unit}")[2]
            restart = re.search(r"^Restart=(\S+)$", part, re.MULTILINE)
            if restart:
                yield f"{name}: {unit} has Restart={restart[1]}"
        for file, count in re.findall(r"^(/\S+):([1-9]\d*)$", files.get("commands/foreign-region", ""), re.MULTILINE):
            yield f"{name}: {file} names us-east-2 {count} times"


CLAIM: Final = "claim-root"
"""The name of the bootstrap action that refuses."""
FAILED_ACTION: Final = re.compile(r"bootstrap action (\d+)")
"""EMR: `On the master instance (i-…), bootstrap action 2 returned a non-zero return code`."""
SIGHTING_SECONDS: Final = 15.0  # judgement: EMR needs minutes for each state of a launch
SECOND_CLUSTER: Final = Check(
    "second cluster",
    "A cluster with three primaries whose claim fails keeps its nodes",
    "protected, with its nodes, in a state that warmbase recognises",
    "correct NEVER_SERVED in operations/cluster/failed_launch.py, and what docs/deploy.md says of such a cluster",
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
    if status in NO_STACK:
        _refuse_late(canary)
        with (
            canary.progress.step(f"deploy {stack}, which its claim must refuse") as say,
            canary.assembly(canary.run.second_file) as assembly,
        ):
            say(backstop.arm(SECOND_MINUTES))
            assembly.synthesise(say)
            # Before CloudFormation gives up, the backstop may end the cluster: it is watched meanwhile.
            ended = Event()
            watcher = Thread(target=_watch, args=(canary, sightings, ended), daemon=True)
            watcher.start()
            try:
                outcome = deploy_stack(assembly, stack, say)
            except OperationFailed as failed:
                if is_interruption(failed):
                    raise
                outcome = failed.summary
            finally:
                ended.set()
                watcher.join()
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
    if at is None or at < canary.aws.now().timestamp() + 60 * SECOND_MINUTES:
        raise Refused.of(
            where=f"canary {canary.environment.name}",
            what="has no time for a second cluster",
            why=f"every cluster ends at {moment(at)}" if at else "no schedule is ahead",
            fix="finish this run with --stages 5; in another run, use --stages 0,1,4,5",
        )


def _watch(canary: Canary, sightings: list[Sighting], ended: Event) -> None:
    """Note how the second cluster looks, until its deployment has ended."""
    while not ended.wait(SIGHTING_SECONDS):
        with suppress(ClientError, BotoCoreError, OperationFailed):
            if (sighting := _sight(canary)) is not None and sighting not in sightings:
                sightings.append(sighting)


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
    return Sighting(
        cluster=identity,
        state=latest["Status"]["State"],
        reason=latest["Status"].get("StateChangeReason", {}).get("Message") or "no reason",
        is_protected=latest["TerminationProtected"],
        nodes=len(running_nodes(canary.aws, identity)),
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
    status, every = status_of(canary.aws, stack), (*sightings, latest)
    refused = next((one for one in every if is_refused(one.reason, one.actions)), latest)
    good = is_refused(refused.reason, refused.actions)
    has_started = status == "CREATE_COMPLETE" or any(
        one.state in {"RUNNING", "WAITING"} and not is_refused(one.reason, one.actions) for one in every
    )
    if has_started or holder != first:
        good = False
    yield check.result(f"{holder}; the second cluster is {refused.state}: {refused.reason}", good=good)
    keeps_nodes = refused.is_protected and refused.nodes > 0 and refused.state in NEVER_SERVED
    yield SECOND_CLUSTER.result(
        f"{refused.text}; its stack is {status}", good=keeps_nodes if good and latest.is_protected else None
    )


def is_refused(reason: str, actions: Sequence[str]) -> bool | None:
    """Return whether EMR names the claim as what failed; None for another reason, such as a quota or capacity."""
    failed = FAILED_ACTION.search(reason)
    named = failed is not None and list(actions[int(failed[1]) - 1 : int(failed[1])]) == [CLAIM]
    return True if named else None
