"""Stages 1 and 2: the canary's environment is deployed behind its backstop, and its nodes are inspected."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any, Final, NamedTuple

from environments.names import backstop_stack
from operations.aws_errors import AGAIN, translated
from operations.canary.backstop import MINUTES, Backstop
from operations.canary.run import FIRST, Canary, StageOutcome
from operations.cdk import run_cdk, selection
from operations.change_set import deploy_stack
from operations.deployment import deployment
from operations.node_command import run_on_nodes
from operations.notifications import try_alarm
from operations.progress import Say, Stage
from operations.proposal import Work, proposal
from operations.verification import alarm_test_results, verification
from operations.verification.check import Check, CheckResult
from sizing.problem import OperationFailed

HARVEST: Final = "/usr/local/lib/warmbase/harvest-node.sh"
"""Where the first bootstrap action of a canary leaves its script."""
HARVEST_SECONDS: Final = 300.0  # judgement: a few hundred small files
ARCHIVE: Final = re.compile(r"(?P<node>.+?)-(?P<moment>bootstrap|minute-\d+|installed)\.tar\.gz$")
UNANSWERED: Final = "local AWS: not asked"
"""The stand-ins of the local AWS write this in place of an answer of a node."""
Archives = Mapping[str, Mapping[str, str]]
"""The text of each harvested file, by the name of its archive."""


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


def synthesise(work: Work, say: Say) -> None:
    """Synthesise the templates of an environment."""
    output = str(work.assembly.directory)
    run_cdk(("synth", "-c", selection(work.name), "--quiet", "--output", output), work.variables, say)


def deploy_backstop(canary: Canary, say: Say) -> str:
    """Deploy the stack of the backstop alone, which the schedules need."""
    with canary.work(canary.run.file) as work:
        synthesise(work, say)
        return deploy_stack(work.assembly, backstop_stack(canary.environment.name), say)


def launch_cluster(canary: Canary) -> StageOutcome:
    """Deploy the environment, once schedules exist that end its cluster. Raises as a deployment does."""
    backstop = Backstop(aws=canary.aws, environment=canary.environment.name)
    with canary.work(canary.run.file) as work:
        proposed = proposal(work, canary.progress, dry_run=False)

        def steps() -> Iterator[Stage]:
            name = backstop_stack(canary.environment.name)
            yield Stage(title=f"deploy {name}", act=lambda say: deploy_stack(work.assembly, name, say))
            yield Stage(title="schedule the end of the clusters", act=lambda _: backstop.arm(MINUTES))
            yield from deployment(work, proposed)

        canary.carry_out(steps())
    cluster = canary.running_cluster()
    archives = fetch_harvest(canary, cluster.id)
    nodes = {match["node"] for name in archives if (match := ARCHIVE.match(name))}
    headline = f"{cluster.state}; harvested {len(nodes)} nodes ({sum(map(len, archives.values()))} files)"
    return StageOutcome(lines=(headline,), results=tuple(_harvest_results(archives)))


def inspect_cluster(canary: Canary) -> StageOutcome:
    """Verify the cluster, and harvest what exists on its nodes since HBase is installed."""
    cluster = canary.running_cluster()
    with canary.progress.step("verify the cluster") as say:
        results = list(verification(canary.aws, canary.planned.launch, say))
        say(f"{len(results)} checks")
    lines = list[str]()
    with canary.progress.step("harvest the nodes again") as say:
        try:
            say(_harvested_now(canary, cluster.id))
        except OperationFailed as failed:
            lines.append(f"not every node was harvested again: {failed.summary}")
    environment = canary.environment
    if environment.alarm_email is not None:
        with canary.progress.step("test one alarm, which notifies you twice") as say:
            tested = alarm_test_results(try_alarm(canary.aws, environment.name, FIRST, say))
            results += tested
            say("; ".join(result.found for result in tested))
    archives = fetch_harvest(canary, cluster.id)
    results += _harvest_results(archives)
    lines += list(_notes(archives))
    differing = [result for result in results if result.good is False]
    good = sum(result.good is True for result in results)
    headline = f"{good} of {len(results)} checks as documented, {len(differing)} differ"
    more = [f"{result.check}: expected {result.expected}, found {result.found}" for result in differing]
    return StageOutcome(lines=(headline, *more, *lines), results=tuple(results))


def _harvested_now(canary: Canary, cluster: str) -> str:
    with translated("could not list the nodes", AGAIN):
        pages: Any = canary.aws.emr.get_paginator("list_instances").paginate(
            ClusterId=cluster, InstanceStates=["RUNNING"]
        )
        nodes = [node["Ec2InstanceId"] for page in pages for node in page["Instances"]]
    text = f"{HARVEST} --log-bucket={canary.log_bucket()} --moment=installed"
    run_on_nodes(canary.aws, dict.fromkeys(nodes, text), HARVEST_SECONDS)
    return f"{len(nodes)} nodes"


def fetch_harvest(canary: Canary, cluster: str) -> Archives:
    """Return what the nodes of a cluster have uploaded so far, and keep the archives in the directory of the run."""
    aws, bucket, prefix = canary.aws, canary.log_bucket(), f"emr/{cluster}/harvest/"
    archives: dict[str, dict[str, str]] = {}
    with translated("could not read the harvest", AGAIN):
        for page in aws.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", ()):
                name = entry["Key"].removeprefix(prefix)
                file = canary.run.directory / "harvest" / cluster / name.replace("/", "-")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(aws.s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read())
                archives[name] = dict(_texts(file.read_bytes()))
    return archives


def _texts(archive: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=BytesIO(archive)) as members:
        for member in members:
            content = members.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name.removeprefix("./"), content.read().decode(errors="replace")


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
