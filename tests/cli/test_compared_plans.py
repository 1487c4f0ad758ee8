"""`warmbase plan` with --set, --against or a second environment: what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.checkout import commit, git
from tests.command import PROJECT, run
from tests.shipped import ENVIRONMENTS
from tests.stacks.recorded import launch_record_of
from warmbase import app
from warmbase.changes.plan_comparison import PlanSide, plan_comparison
from warmbase.cli.size.plan_comparison import MOST_LINES, comparison_markdown, plan_differences_of, plan_markdown
from warmbase.environments.reader import read_environment
from warmbase.sizing.cost import CostLine
from warmbase.sizing.plan import Warning  # noqa: A004 - the plan's own word

MORE = ("--set", "workload.stored=14TiB")


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_the_first_lines_have_the_answer(columns: int) -> None:
    result = run("plan", "prod", *MORE, columns=columns)
    assert (result.returncode, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= min(columns, 120)
    answer = " ".join(result.stdout.partition("\n\n")[0].split())
    assert re.match(
        r"\$[\d,]+ → \$[\d,]+ a month \(\+\$[\d,]+, \+\d+ %\): \+\d nodes; applied by a new cluster", answer
    )
    assert "With the node type and volumes unchanged: $" in answer
    assert "prod.yaml --set workload.stored=14TiB" in result.stdout
    assert "warmbase diff prod" in result.stdout


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_does_not_differ_from_itself(name: str) -> None:
    result = run("plan", name, name)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("The plans do not differ.\n")


def test_two_environments_are_compared_without_application() -> None:
    page = run("plan", "dev", "prod").stdout
    assert "core nodes" in page
    assert "applied" not in page.partition("Each setting")[0]


def test_json_has_both_plans_and_the_difference() -> None:
    document = json.loads(run("plan", "prod", *MORE, "--output", "json").stdout)
    assert set(document) == {
        "sources",
        "summary",
        "before",
        "after",
        "delta",
        "application",
        "unknown",
        "same_nodes",
        "analytics",
    }
    before, after = document["before"]["usd_per_month"], document["after"]["usd_per_month"]
    assert document["delta"]["usd_per_month"] == after - before
    for name, side in (("prod", before), ("prod", after)):
        arguments = MORE if side == after else ()
        shown = json.loads(run("plan", name, name, *arguments, "--output", "json").stdout)["after"]["usd_per_month"]
        assert shown == side
    assert json.loads(run("plan", "prod", "--output", "json").stdout)["cost"]["usd_per_month"] == before
    assert document["application"]["cost"]["applied"] == "new cluster"


@pytest.mark.parametrize("output", ["table", "json", "markdown"])
def test_the_newer_plan_decides_the_exit_code(output: str, tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(
        (PROJECT / "environments/dev.yaml").read_text().replace("{hit_ratio: 0.9", "{p99: 1 ms, hit_ratio: 0.9")
    )
    worse = run("plan", "dev", str(file), "--output", output)
    assert worse.returncode == 3
    assert "no cluster meets the targets; the nearest has a p99" in " ".join(worse.stdout.replace("\\", "").split())
    assert f"{file}  no cluster meets the targets" in worse.stderr
    if output == "json":
        assert json.loads(worse.stdout)["error"]["kind"] == "infeasible"
    assert run("plan", str(file), "dev", "--output", output).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dev", "prod", "--against", "launch"), "Name a second environment or --against, not both."),
        (("dev", "--set", "workload.stord=1TiB"), "did you mean 'stored'?"),
        (("dev", "--against", "launch"), "no launch record"),
        (("dev", "--set", "workload.stored=14", "TiB"), "'TiB' is apart from its number."),
        (("dev", "prod", "--why"), "--why, --cost and --all print one plan."),
        (("dev", "prd"), "did you mean 'prod'?"),
        (("dev", "prod", "--cluster", "green"), "there is no cluster 'green'"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[str, ...], message: str) -> None:
    result = run("plan", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with dev, committed and then given more data."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    text = (PROJECT / "environments/dev.yaml").read_text()
    (tmp_path / "dev.yaml").write_text(text)
    commit(tmp_path, "dev")
    (tmp_path / "dev.yaml").write_text(text.replace("200 GiB", "900 GiB"))
    return tmp_path


def test_a_revision_is_compared_with_the_file(checkout: Path) -> None:
    result = run("plan", "dev.yaml", "--against", "main", directory=checkout)
    assert (result.returncode, result.stderr) == (0, "")
    assert "before  main:dev.yaml\nafter   dev.yaml\n" in result.stdout
    assert re.match(r"\$591 → \$", result.stdout)


def test_a_file_of_a_revision_s_name_wins(checkout: Path) -> None:
    (checkout / "main").write_text((checkout / "dev.yaml").read_text())
    result = run("plan", "dev.yaml", "--against", "main", directory=checkout)
    assert "The plans do not differ." in result.stdout
    assert "main is a file and a git revision" in result.stderr
    assert run("plan", "dev.yaml", "--against", "main~0", directory=checkout).stdout.startswith("$591 → $")


def test_a_file_that_is_not_there_is_no_revision_either(checkout: Path) -> None:
    result = run("plan", "dev.yaml", "--against", "nosuch.yaml", directory=checkout)
    assert result.returncode == 2
    assert "--against nosuch.yaml  no such file and no such git revision" in result.stderr


def test_an_unknown_file_in_json_is_one_document(checkout: Path) -> None:
    (checkout / "new.yaml").write_text((checkout / "dev.yaml").read_text())
    result = run("plan", "new.yaml", "--against", "main", "--output", "json", directory=checkout)
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"]["problems"][0]["what"] == "has no file new.yaml"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of dev that has the record of its launch."""
    directory = tmp_path_factory.mktemp("recorded")
    file = directory / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    launch_record_of(file, app.synthesise(str(file), str(directory / "cdk.out")).assembly)
    return file


def test_the_launch_is_compared_with_today_s_plan(recorded: Path) -> None:
    document = json.loads(run("plan", str(recorded), "--against", "launch", "--output", "json").stdout)
    assert document["application"]["changes"] == []
    assert document["sources"]["before"].endswith("dev.launch/blue")
    assert document["delta"]["usd_per_month"] == 0


def test_diff_and_plan_agree_on_the_application(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text(recorded.read_text().replace("200 GiB", "900 GiB"))
    (tmp_path / "dev.launch").symlink_to(recorded.with_suffix(".launch"))
    file, launch = str(tmp_path / "dev.yaml"), ("--against", "launch", "--output", "json")
    of_plan, of_diff = (json.loads(run(command, file, *launch).stdout) for command in ("plan", "diff"))
    assert of_plan["application"]["cost"] == of_diff["cost"]
    assert of_plan["application"]["changes"] == of_diff["changes"]
    # The nodes of the launch are priced under today's workload: the bill for S3 is of the data of today.
    assert of_plan["before"]["core_type"] == "m7g.xlarge"
    assert of_plan["before"]["meets_targets"] is False
    assert of_plan["before"]["cost"]["S3 storage"] == of_plan["after"]["cost"]["S3 storage"]


def test_an_override_that_cannot_be_applied_is_named() -> None:
    override = ("--set", "overrides.hbase-site.hbase.rootdir=s3://elsewhere/")
    page = " ".join(run("plan", "dev", *override).stdout.split())
    assert "how it is applied is unknown" in page
    assert "unknown --set overrides.hbase-site.hbase.rootdir" in page
    assert "do not differ" not in page
    document = json.loads(run("plan", "dev", *override, "--output", "json").stdout)
    assert document["application"] is None
    assert "hbase.rootdir" in document["unknown"]


def test_diff_names_plan_and_plan_names_diff() -> None:
    assert "warmbase diff" in run("plan", "--help").stdout
    assert "warmbase plan" in run("diff", "--help").stdout


def test_a_comparison_loads_neither_cdk_nor_boto3() -> None:
    call = f"warmbase.main(['plan', 'dev', *{list(MORE)}], standalone_mode=False)"
    script = f"from warmbase.cli.commands import warmbase\n{call}\nimport sys\nprint('LOADED', *sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("warmbase.").partition(".")[0] for name in result.stdout.partition("LOADED")[2].split()}
    assert "changes" in loaded
    assert not loaded & {"aws_cdk", "boto3", "botocore", "moto"}


@cache
def side(name: str) -> PlanSide:
    environment = read_environment(name)
    return PlanSide.of(environment, environment.active)


TEXT = st.text(min_size=1, max_size=200)
WARNINGS = st.lists(
    st.builds(Warning, id=TEXT, severity=st.just("info"), message=TEXT, fix=TEXT),
    max_size=80,
    unique_by=lambda one: one.id,
)
LINES = st.lists(
    st.builds(CostLine, item=TEXT, usd_per_month=st.floats(0, 1e6), because=TEXT, estimate=st.booleans()), max_size=80
)


@settings(max_examples=60, deadline=None)
@given(before=WARNINGS, after=WARNINGS, cost=LINES, source=TEXT)
def test_markdown_has_at_most_60_lines(
    before: list[Warning], after: list[Warning], cost: list[CostLine], source: str
) -> None:
    was, will = changed(side("dev"), before, []), changed(side("prod"), after, cost)
    pages = [
        comparison_markdown(plan_differences_of(plan_comparison(was, will), (source, source))),
        comparison_markdown(plan_differences_of(plan_comparison(will, was), (source, source))),
        plan_markdown(will, source),
    ]
    for page in pages:
        lines = page.splitlines()
        assert len(lines) <= MOST_LINES
        assert [line.count("<details>") + line.count("</details>") for line in lines if "details>" in line] == [1, 1]
        rows = [re.sub(r"\\.", "", line).count("|") for line in lines if line.startswith("|")]
        assert set(rows) <= {3, 4}


def changed(original: PlanSide, warnings: list[Warning], cost: list[CostLine]) -> PlanSide:
    """Return the side with those warnings, and with further lines in its bill."""
    plan = original.plan
    assert plan is not None
    bill = replace(plan.cost, lines=(*plan.cost.lines, *cost))
    return replace(original, plan=replace(plan, warnings=tuple(warnings), cost=bill))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_one_plan_is_printed_as_markdown(name: str) -> None:
    result = run("plan", name, "--output", "markdown")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) <= MOST_LINES
    price = json.loads(run("plan", name, "--output", "json").stdout)["cost"]["usd_per_month"]
    assert f"${price:,.0f} a month" in result.stdout.splitlines()[0]
