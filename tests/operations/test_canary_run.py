"""The run of a canary: its directory, its environment, its price, its report, and what interrupts it."""

from __future__ import annotations

import ast
import json
import os
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from tests.operations.canary_world import TODAY, canary_of
from tests.operations.deployed import PROJECT, Cut
from tests.operations.mocked_aws import clients
from warmbase.environments.names import CANARY_TAG
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, OperationFailed, Refused
from warmbase.operations import canary as module
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.lock import current_lock, environment_lock
from warmbase.operations.canary import (
    CONFIRMED,
    OPEN,
    REFUTED,
    STAGES,
    CanaryStage,
    stage_answers,
    stage_numbers,
    verdicts,
)
from warmbase.operations.canary.backstop import canary_price
from warmbase.operations.canary.launch import is_refused
from warmbase.operations.canary.run import Canary, CanaryRun, StageAnswer, StageOutcome, canary_name, open_run
from warmbase.operations.verify import verification
from warmbase.operations.verify.check import HARMS, CheckResult, read_statements

SOURCES = tuple(Path(module.__file__).parent.glob("*.py"))


def begun(directory: Path, name: str = "dev") -> CanaryRun:
    """Begin a run for the environment with this name or this file, and return it."""
    read = read_environment(name)
    run = open_run(read, directory, TODAY)
    run.begin(read)
    return run


def answer(stage: int, *results: CheckResult, failure: str = "") -> StageAnswer:
    return StageAnswer(stage=stage, seconds=1.0, failure=failure, lines=("well",), results=results)


def result(row: str, *, good: bool | None, check: str = "check", text: str = "text") -> CheckResult:
    return CheckResult(check=check, row=row, expected="", found=text, good=good, todo="")


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_price_is_below_two_dollars(name: str, tmp_path: Path) -> None:
    read = read_environment(name)
    price = canary_price(read, open_run(read, tmp_path, TODAY), tuple(STAGES))
    assert price.nodes[0] == 3
    assert 0.5 < price.usd < price.most_usd < 2
    assert 0.05 < price.idle_usd_per_hour < 0.2
    first = canary_price(read, open_run(read, tmp_path, TODAY), (0,))
    assert (first.nodes, first.usd, first.most_usd) == ((), 0.0, 0.0), "the first stage costs nothing"
    assert list(tmp_path.iterdir()) == []


def test_the_environment_of_a_canary_shares_nothing_with_the_one_that_is_named(tmp_path: Path) -> None:
    prod, canary = read_environment("prod"), read_environment(str(begun(tmp_path, "prod").file))
    assert canary.name == "prod-canary"
    same = ("region", "release", "alarm_email", "account", "os_release")
    assert [getattr(canary, key) for key in same] == [getattr(prod, key) for key in same]
    assert canary.network.availability_zone == prod.network.availability_zone
    assert canary.network.vpc is None
    assert canary.tags == {**prod.tags, "warmbase-canary": "prod-canary"}
    assert canary.root.bucket != prod.root.bucket
    assert canary.log_bucket != prod.log_bucket


def test_the_second_cluster_has_three_primaries_over_the_same_root(tmp_path: Path) -> None:
    run = begun(tmp_path)
    first, second = (read_environment(str(file)) for file in (run.file, run.second_file))
    assert (first.name, first.root, first.log_bucket) == (second.name, second.root, second.log_bucket)
    assert set(first.clusters) & set(second.clusters) == set()
    assert [cluster.primaries for cluster in second.clusters.values()] == [3]


@pytest.mark.parametrize(
    ("name", "expected"), [("dev", "dev-canary"), ("production-eu-west", "production-eu-canary"), ("a" * 21, "a" * 14)]
)
def test_a_long_name_is_cut(name: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(Path("environments/dev.yaml").read_text().replace("name: dev", f"name: {name}"))
    environment = read_environment(str(file))
    assert canary_name(environment).removesuffix("-canary") == expected.removesuffix("-canary")
    assert read_environment(str(begun(tmp_path, str(file)).file)).name == canary_name(environment)


def test_a_run_continues_until_its_last_stage_has_ended_well(tmp_path: Path) -> None:
    run, dev = begun(tmp_path), read_environment("dev")
    run.save(answer(5, failure="no"))
    assert open_run(dev, tmp_path, "2026-12-09") == run
    assert open_run(read_environment("prod"), tmp_path, TODAY).directory == tmp_path / f"{TODAY}-2"
    run.save(answer(5))
    assert open_run(dev, tmp_path, TODAY).directory == tmp_path / f"{TODAY}-2"
    assert open_run(dev, tmp_path, "2026-12-09").directory == tmp_path / "2026-12-09"


def test_an_answer_is_read_as_it_was_saved(tmp_path: Path) -> None:
    run = begun(tmp_path)
    saved = answer(0, result("Java 21", good=False), result("", good=None))
    run.save(saved)
    assert run.answer(0) == saved
    assert run.answer(1) is None
    assert sorted(file.name for file in run.directory.iterdir()) == [
        "dev-canary.yaml",
        "run.json",
        "second",
        "stage-0.json",
    ]


@pytest.mark.parametrize(("text", "numbers"), [("0", (0,)), ("0-2", (0, 1, 2)), ("5, 0", (0, 5)), ("0-5", (*STAGES,))])
def test_stages_are_named_by_ranges_and_lists(text: str, numbers: tuple[int, ...]) -> None:
    assert stage_numbers(text) == numbers


@pytest.mark.parametrize("text", ["", "six", "0-", "6", "2-1", "-1"])
def test_other_stages_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="the stages are 0 to 5"):
        stage_numbers(text)


def canary_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: dict[int, Exception]
) -> tuple[Canary, list[int]]:
    """Return a canary whose stages do nothing, or fail, and the list of those that ran."""
    ran: list[int] = []

    def act(number: int, _: Canary) -> StageOutcome:
        ran.append(number)
        if number in failing:
            raise failing[number]
        return StageOutcome(lines=(str(number),))

    stages = {number: CanaryStage(title="", act=partial(act, number)) for number in STAGES}
    monkeypatch.setattr(module, "STAGES", stages)
    return Canary(aws=clients(), run=begun(tmp_path), variables={}, progress=Cut()), ran


def test_a_stage_fails_alone_and_only_it_is_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing: dict[int, Exception] = {2: Refused.of(where="here", what="is wrong", why="", fix="")}
    canary, ran = canary_with(monkeypatch, tmp_path, failing)
    answers = list(stage_answers(canary, tuple(STAGES)))
    assert [bool(one.failure) for one in answers] == [number == 2 for number in STAGES]
    assert canary.run.answers() == tuple(answers)
    failing.clear()
    ran.clear()
    assert not any(one.failure for one in stage_answers(canary, tuple(STAGES)))
    assert ran == [2]


def test_a_failed_launch_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    canary, ran = canary_with(monkeypatch, tmp_path, {1: OperationFailed.of(where="", what="", why="", fix="")})
    assert [one.stage for one in stage_answers(canary, tuple(STAGES))] == [0, 1]
    assert ran == [0, 1]


INTERRUPTIONS = [
    ClientError({"Error": {"Code": "ExpiredToken", "Message": "expired"}}, "DescribeCluster"),
    EndpointConnectionError(endpoint_url="https://elasticmapreduce"),
]


@pytest.mark.parametrize("cause", INTERRUPTIONS, ids=["expired credentials", "no network"])
def test_an_interruption_is_no_answer(cause: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command ends with the reason; the next one continues with the same stage."""
    failing: dict[int, Exception] = {}
    canary, ran = canary_with(monkeypatch, tmp_path, failing)
    try:
        with translated("could not look", "run the same command again"):
            raise cause
    except OperationFailed as error:
        failing[1] = error
    with pytest.raises(OperationFailed, match="run the same command again"):
        list(stage_answers(canary, tuple(STAGES)))
    assert canary.run.answer(1) is None
    failing.clear()
    list(stage_answers(canary, tuple(STAGES)))
    assert ran == [0, 1, *(number for number in STAGES if number >= 1)]


def test_the_page_says_how_many_rows_a_canary_can_judge_at_most() -> None:
    """A check names its row by the words with which it begins, so a text of the code that begins a row counts."""
    sources = (*SOURCES, *Path(verification.__file__).parent.glob("*.py"))
    nodes = (node for file in sources for node in ast.walk(ast.parse(file.read_text())))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    starts = tuple(text for text in texts if len(text) > len("DataNode"))
    statements = read_statements()
    judged = [row for row in statements if row.engine == "hbase" and row.what.startswith(starts)]
    page = (PROJECT / "docs" / "day-one.md").read_text()
    assert f"at most {len(judged)} of {len(statements)} statements" in page


def test_every_row_has_a_verdict_and_the_most_harmful_come_first() -> None:
    one, two, three = (statement.what for statement in read_statements()[:3])
    answers = [
        answer(0, result(one, good=None), result(two, good=False, check="a"), result(three, good=False)),
        answer(2, result(two, good=True, check="b"), result(three, good=True, text="later")),
    ]
    rows = verdicts(answers)
    assert len(rows) == len(read_statements())
    harms = [HARMS.index(row.statement.harm) for row in rows]
    assert harms == sorted(harms)
    by_row = {row.statement.what: (row.verdict, row.observation) for row in rows}
    assert by_row[one] == (OPEN, read_statements()[0].check)
    assert by_row[two] == (REFUTED, "a: text")
    assert by_row[three] == (CONFIRMED, "check: later")


def named_rows(source: Path) -> Iterator[str]:
    """Yield the row that each check of a file names."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="Check" | "HarvestCheck"), args=[_, ast.Constant(value=str(row)), *_]) if (
                row
            ):
                yield row


def test_each_row_that_the_canary_settles_is_on_the_page() -> None:
    rows = {row for source in SOURCES for row in named_rows(source)}
    assert len(rows) >= 7
    assert [row for row in rows if not any(one.what.startswith(row) for one in read_statements())] == []


def test_the_lock_of_a_process_that_has_ended_is_removed(tmp_path: Path) -> None:
    """A killed canary leaves its lock behind; another command's lock, and a live canary's, stay."""
    with mock_aws():
        canary = canary_of(clients(), tmp_path, Cut())
        for command, pid, stays in (
            ("canary", 2**22 + 1, False),
            ("canary", os.getpid(), True),
            ("deploy", 2**22 + 1, True),
        ):
            holder = {
                "token": "t",
                "host": socket.gethostname(),
                "pid": f"{pid} (me)",
                "command": f"warmbase {command}",
            }
            name = "/warmbase/dev-canary/lock"
            clients().ssm.put_parameter(Name=name, Value=json.dumps(holder), Type="String", Overwrite=True)
            canary.remove_stale_lock()
            assert (current_lock(clients(), "dev-canary") is not None) == stays
        clients().ssm.delete_parameter(Name=name)
        with environment_lock(clients(), canary.environment, "canary"):
            pass


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("On the master instance (i-0a), bootstrap action 2 returned a non-zero return code", True),
        ("On the master instance (i-0a), bootstrap action 1 returned a non-zero return code", None),
        ("On the master instance (i-0a), bootstrap action 9 returned a non-zero return code", None),
        ("EC2 has insufficient capacity for m8g.xlarge", None),
        ("Terminated by user request", None),
        ("no reason", None),
    ],
)
def test_a_second_cluster_that_fails_for_another_reason_was_not_refused(reason: str, *, expected: bool | None) -> None:
    assert is_refused(reason, ["harvest-node", "claim-root", "start-agent"]) is expected


@pytest.mark.parametrize("tags", [{}, {CANARY_TAG: "dev-canary"}, {CANARY_TAG: "other-canary"}])
def test_a_canary_never_takes_the_stacks_of_an_environment_with_its_name(tags: dict[str, str], tmp_path: Path) -> None:
    properties = {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
    template = {"Resources": {"Logs": {"Type": "AWS::S3::Bucket", "Properties": properties}}}
    with mock_aws():
        canary = canary_of(clients(), tmp_path, Cut())
        canary.refuse_other_stacks()
        clients().cloudformation.create_stack(
            StackName="warmbase-dev-canary-storage", TemplateBody=json.dumps(template)
        )
        with (
            nullcontext()
            if tags == {CANARY_TAG: "dev-canary"}
            else pytest.raises(Refused, match="no canary has made it")
        ):
            canary.refuse_other_stacks()
