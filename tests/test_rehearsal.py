"""The pages about deployment and operation, rehearsed: every command runs, in order, on one kept local AWS.

A reader who types the commands of a page sees what the page shows. They run in a checkout of their own, with the
variables that `warmbase demo --keep` prints and no others.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from msgspec import Struct, field

from tests.pages import DOCS, ELLIPSIS, PAGES, PROJECT, WARMBASE, assert_printed_whole, fences, session
from tests.patience import HANG_SECONDS

KEEP: Final = f"{WARMBASE} demo prod --keep"
STORY: Final = ("deploy", "operations")
"""The pages, in the order in which they are rehearsed."""
COPIED: Final = (".gitignore", "app.py", "environments")
"""Everything else of the scratch checkout is a link: no command writes to it."""

FAILED_LAUNCH: Final = "a launch that failed: tests/operations/test_failed_launches.py plays it"
ELSEWHERE: Final[Mapping[str, str]] = {
    "make setup": "every test runs in a checkout that is set up",
    "export AWS_PROFILE=…": "the local AWS takes any credentials",
    'echo "major_compact': "HBase's shell on a primary node; the local AWS has no HBase",
    "aws emr modify-cluster-attributes ": FAILED_LAUNCH,
    "aws emr terminate-clusters ": FAILED_LAUNCH,
    "aws cloudformation update-termination-protection --no-enable-termination-protection "
    "--stack-name warmbase-prod-blue-cluster": FAILED_LAUNCH,
    "aws cloudformation delete-stack --stack-name warmbase-prod-blue-cluster": FAILED_LAUNCH,
    "sudo ": "a command for a node; the local AWS has no nodes",
}
"""Commands that do not run on the local AWS, by how they begin, each with the reason."""

AWS: Final = """#!{python}
import sys, boto3
client = boto3.client(sys.argv[1])
words = sys.argv[3:]
flags = [words.pop(0).removeprefix("--no-")] if words[0].startswith("--no-") else []
options = {{**dict.fromkeys(flags, False), **dict(zip(words[::2], words[1::2], strict=True))}}
named = {{"".join(map(str.capitalize, key.strip("-").split("-"))): value for key, value in options.items()}}
getattr(client, sys.argv[2].replace("-", "_"))(**named)
"""
"""The AWS command line as far as the pages use it: `aws SERVICE OPERATION [--no-FLAG] --OPTION VALUE…`, by boto3."""


class Step(Struct, frozen=True, dict=True):
    """One command of a page; `lines` is what the page shows below it, None where it shows nothing."""

    page: str
    command: str
    lines: list[str] | None

    @property
    def elsewhere(self) -> str | None:
        """Return why the command does not run here, None where it does."""
        return next((reason for start, reason in ELSEWHERE.items() if self.command.startswith(start)), None)


def steps(page: str) -> Iterator[Step]:
    """Yield the commands of a page's console and shell blocks, in order."""
    for language, text in fences(DOCS / f"{page}.md"):
        if language == "console":
            for command, lines in session(text):
                yield Step(page, command, lines)
        elif language == "sh":
            for line in filter(None, map(str.strip, text.splitlines())):
                yield Step(page, line, None)


class Checkout(Struct, dict=True):
    """A scratch checkout, and the variables of the reader's shell in it."""

    directory: Path
    variables: dict[str, str]
    demo: list[str] = field(default_factory=list)
    """The lines that the demo printed."""

    def run(self, command: str) -> tuple[int, list[str]]:
        """Return the exit code of a command and all that it printed; a question is answered with yes."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.directory,
            env=self.variables,
            input="y\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        # A terminal ends the line of a question with the answer.
        return done.returncode, re.sub(r"(?<=\[y/N\]: )", "\n", done.stdout).splitlines()

    def client(self, service: str) -> Any:
        """Return a client of the local AWS."""
        names = {"endpoint_url": "AWS_ENDPOINT_URL", "region_name": "AWS_REGION"}
        keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        make: Any = boto3.client
        return make(service, **{name: self.variables[variable] for name, variable in names.items()}, **keys)

    def edit(self, environment: str, old: str, new: str) -> None:
        """Change an environment file."""
        file = self.directory / "environments" / f"{environment}.yaml"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    def cluster(self, environment: str) -> str:
        """Return the id of the environment's running cluster."""
        clusters = self.client("emr").list_clusters(ClusterStates=["WAITING"])["Clusters"]
        [identity] = [cluster["Id"] for cluster in clusters if cluster["Name"] == f"warmbase-{environment}-blue"]
        return str(identity)

    def tag(self, environment: str, key: str, value: str) -> None:
        """Tag the environment's cluster, for the local AWS to fail on purpose; no value removes the tag."""
        identity = self.cluster(environment)
        if value:
            self.client("emr").add_tags(ResourceId=identity, Tags=[{"Key": key, "Value": value}])
        else:
            self.client("emr").remove_tags(ResourceId=identity, TagKeys=[key])


def lose_node(checkout: Checkout) -> None:
    """Terminate the instance of one of the two core nodes; EMR launches another one in its place."""
    nodes = checkout.client("emr").list_instances(ClusterId=checkout.cluster("dev"), InstanceGroupTypes=["CORE"])
    checkout.client("ec2").terminate_instances(InstanceIds=[nodes["Instances"][0]["Ec2InstanceId"]])


def publish_metrics(checkout: Checkout) -> None:
    """Publish the figures that two nodes with caches would, one of them with many misses."""
    emr, cloudwatch = checkout.client("emr"), checkout.client("cloudwatch")
    identity = checkout.cluster("dev")
    groups = {
        group["Id"]: group["InstanceGroupType"]
        for group in emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
    }
    nodes = [
        node
        for node in emr.list_instances(ClusterId=identity, InstanceStates=["RUNNING"])["Instances"]
        if groups[node["InstanceGroupId"]] == "CORE"
    ]
    figures = {"Hits": (900.0, 730.0), "Misses": (90.0, 265.0), "HitRatio": (0.91, 0.734), "Fill": (0.6, 0.5)}
    now = datetime.now(UTC)
    for minute, (name, values) in ((minute, item) for minute in (32, 4) for item in figures.items()):
        data = [
            {
                "MetricName": name,
                "Dimensions": [
                    {"Name": "ClusterId", "Value": identity},
                    {"Name": "InstanceId", "Value": node["Ec2InstanceId"]},
                ],
                "Timestamp": now - timedelta(minutes=minute),
                "Value": value - (0.2 if name == "Fill" and minute > 10 else 0),
            }
            for node, value in zip(nodes, values, strict=True)
        ]
        cloudwatch.put_metric_data(Namespace="warmbase", MetricData=data)


def rename(checkout: Checkout) -> None:
    """Change the name of the environment, as the page says."""
    checkout.edit("prod", "name: prod", "name: production")


def tune(environment: str) -> Callable[[Checkout], None]:
    """Return what adds the page's override to an environment file."""

    def add(checkout: Checkout) -> None:
        checkout.edit(environment, "\nclusters:", "\noverrides: {hbase-site: {hbase.rpc.timeout: '90000'}}\nclusters:")

    return add


def arrest(checkout: Checkout) -> None:
    """Let the next reconfiguration of prod end ARRESTED."""
    tune("prod")(checkout)
    checkout.tag("prod", "local-aws:reconfiguration", "ARRESTED")


def widen_access(checkout: Checkout) -> None:
    """Give the proposal something to propose."""
    checkout.edit("dev", "\nclusters:", "\naccess: {cidrs: [10.9.0.0/16]}\nclusters:")


def leave_edits(checkout: Checkout) -> None:
    """Leave something in the write-ahead log of prod."""
    checkout.tag("prod", "local-aws:hbase", "wal")


BEFORE: Final[Mapping[str, Callable[[Checkout], object]]] = {
    "npx cdk diff -c environment=prod ": rename,
    "git add ": lambda checkout: checkout.run("git init --quiet"),
    f"{WARMBASE} deploy dev --save": widen_access,
    f"{WARMBASE} reconfigure dev ": tune("dev"),
    f"{WARMBASE} reconfigure prod --yes ": arrest,
    f"{WARMBASE} status dev": publish_metrics,
    f"{WARMBASE} teardown prod blue --yes ": leave_edits,
    f"{WARMBASE} release-regions dev": lose_node,
    f"{WARMBASE} heal dev": lambda checkout: checkout.tag("dev", "local-aws:hbase", "away"),
}
"""Makes true what the page says of a command, by how the command begins."""
NOTHING: Final[Callable[[Checkout], object]] = lambda _: None  # noqa: E731
AFTER: Final[Mapping[str, Callable[[Checkout], object]]] = {
    "npx cdk diff -c environment=prod ": lambda checkout: checkout.edit("prod", "name: production", "name: prod"),
    f"{WARMBASE} teardown prod blue --yes ": lambda checkout: checkout.tag("prod", "local-aws:hbase", ""),
    f"{WARMBASE} heal dev": lambda checkout: checkout.tag("dev", "local-aws:hbase", ""),
}
CODES: Final[Mapping[str, int]] = {
    f"{WARMBASE} deploy prod --dry-run": 3,  # the demo deploys by plain CDK, and the page says so
    "npx cdk diff -c environment=prod ": 1,
    f"{WARMBASE} reconfigure prod --yes ": 1,
    f"{WARMBASE} release-regions dev": 3,
    f"{WARMBASE} verify dev": 3,
    f"{WARMBASE} teardown prod blue --yes ": 3,
}
"""The exit codes that are not 0."""


def chosen(table: Mapping[str, Any], command: str, default: Any) -> Any:
    """Return the entry of a table for the command that begins with its key."""
    return next((value for start, value in table.items() if command.startswith(start)), default)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Yield a scratch checkout in which `warmbase demo --keep` has run, with the variables that it printed."""
    directory = tmp_path_factory.mktemp("rehearsal") / "warmbase"
    directory.mkdir()
    for path in PROJECT.iterdir():
        if path.name in COPIED:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, directory / path.name)
        elif path.name not in {".git", "cdk.out"}:
            (directory / path.name).symlink_to(path)
    shell = {
        "PATH": f"{directory.parent / 'bin'}:{PROJECT / '.venv/bin'}:{os.environ['PATH']}",
        "HOME": str(directory.parent),
        "PYTHONPATH": str(directory),
        "SOURCE_DATE_EPOCH": os.environ["SOURCE_DATE_EPOCH"],
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }
    programs = directory.parent / "bin"
    programs.mkdir()
    (programs / "aws").write_text(AWS.format(python=sys.executable))
    (programs / "aws").chmod(0o755)
    here = Checkout(directory, shell)
    code, here.demo = here.run(KEEP)
    assert code == 0, here.demo
    [process] = re.findall(r"To end it: kill (\d+)", "\n".join(here.demo))
    try:
        exports = (line.removeprefix("  export ") for line in here.demo if line.startswith("  export "))
        here.variables |= dict(line.split("=", 1) for line in exports)
        yield here
    finally:
        os.kill(int(process), signal.SIGTERM)


@pytest.mark.e2e
@pytest.mark.thorough
def test_every_command_of_the_pages_works_on_a_kept_local_aws(checkout: Checkout) -> None:
    """Play the pages in order, and list at the end every command that does not print what its page shows."""
    failures = [*failures_of(demonstration(checkout)), *suggested(checkout)]
    for page in STORY:
        for step in steps(page):
            if step.elsewhere is None:
                chosen(BEFORE, step.command, NOTHING)(checkout)
                failures += failures_of(partial(play, checkout, step))
                chosen(AFTER, step.command, NOTHING)(checkout)
    assert not failures, "\n\n".join(failures)


def play(checkout: Checkout, step: Step) -> None:
    """Run a command, and compare its exit code and its output with the page."""
    code, printed = checkout.run(step.command)
    text = "\n".join(printed)
    assert code == chosen(CODES, step.command, 0), f"{step.page}: {step.command}\nexit code {code}\n{text}"
    if step.lines is not None:
        assert set(step.lines) != {ELLIPSIS}, f"{step.page}: {step.command} shows nothing"
        try:
            assert_printed_whole(step.lines, printed)
        except AssertionError as error:
            raise AssertionError(f"{step.page}: {step.command}\n{error}\n{text}") from None


def demonstration(checkout: Checkout) -> Callable[[], None]:
    """Return the comparison of the demo, which has run, with its page."""
    [lines] = [lines for step in steps("proof") if step.command == KEEP for lines in [step.lines]]
    return lambda: assert_printed_whole(lines or [], checkout.demo)


def suggested(checkout: Checkout) -> list[str]:
    """Return the suggestions at the end of the demo that neither run now nor are commands of the pages."""
    commands = [re.split(r"  +", line.strip())[0] for line in checkout.demo[checkout.demo.index("Try next:") + 1 :]]
    assert len(commands) == 4
    played = {step.command.partition("#")[0].strip() for page in STORY for step in steps(page)}
    rest = [command for command in commands if f".venv/bin/{command}" not in played]
    return [command for command in rest if checkout.run(command)[0] != 0]


def failures_of(act: Callable[[], None]) -> list[str]:
    """Return the message of a comparison that fails."""
    try:
        act()
    except AssertionError as error:
        return [str(error)]
    return []


OFFLINE: Final = "test_readme.py runs the commands with output in this process: they ask no AWS"
LAB: Final = "a real HBase for minutes to hours; `make test-lab` runs the scenarios"
REASONS: Final[Mapping[str, str]] = {
    "README": f"{OFFLINE}; the operations on `mine` run here on `dev`, and CI is `make demo` and `make test`",
    "analytics": f"{OFFLINE}; tests/operations/engines deploys, tunes and removes the cluster",
    "check": OFFLINE,
    "clients": OFFLINE,
    "planning": OFFLINE,
    "price-a-change": OFFLINE,
    "size": f"{OFFLINE}; `prices refresh` asks the price list of AWS, which the local AWS lacks",
    "proof": "test_readme.py runs `make demo` and what asks no AWS, and this module the demo that is kept",
    "add-a-release": "for maintainers: its tests run in `make test`, and the refresh downloads HBase's jars",
    "CONTRIBUTING": "for maintainers: the commands are targets of make, and this suite is one of them",
    "day-one": "tests/operations/test_canary.py rehearses every stage; the AWS command line is for a real account",
    "explore": "a server that Ctrl-C ends; test_explore.py starts it, and test_plan_report.py writes a report",
    "inspect": "it reads the root of a lab that runs; tests/cli/test_inspect.py inspects store files",
    "kerberos": "commands for a primary node with a KDC; the local AWS has no nodes",
    "lab-cold-caches": LAB,
    "lab-compaction": LAB,
    "lab-fills": LAB,
    "lab-hdfs-encryption": LAB,
    "lab-heal": LAB,
    "lab-node-lost": LAB,
    "lab-results": LAB,
    "lab-rolling-restart": LAB,
    "lab-tables": LAB,
    "lab-three-servers": LAB,
    "lab-trino-cache": LAB,
    "lab-writes": LAB,
}
"""The pages with commands that are not rehearsed here, each with the reason."""


def test_every_page_with_commands_is_rehearsed_or_has_a_reason() -> None:
    pages = {page.stem for page in PAGES if any(language in {"console", "sh"} for language, _ in fences(page))}
    assert pages == {*STORY, *REASONS}


def test_nothing_is_prepared_for_a_command_that_no_page_shows() -> None:
    commands = [step.command for page in STORY for step in steps(page)]
    for table in (BEFORE, AFTER, CODES, ELSEWHERE):
        assert [start for start in table if not any(command.startswith(start) for command in commands)] == []
