"""The jobs of docs/ci for GitHub and GitLab: their very steps, in a scratch checkout, with stand-ins for what posts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from tests.checkout import commit, git
from tests.command import PROJECT
from tests.patience import HANG_SECONDS

CI = PROJECT / "docs/ci"
DEV = (PROJECT / "environments/dev.yaml").read_text()
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
COMMIT = re.compile(r"^[\w-]+/[\w-]+@[0-9a-f]{40}$")

# Keeps what would be posted, and says that nothing was posted before unless EARLIER is set.
GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$POSTED/calls"
[[ $* == *--paginate* ]] && { printf '%s' "${EARLIER:-}"; exit; }
cp comment.md "$POSTED/comment.md"
"""
CURL = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$POSTED/calls"
cp comment.md "$POSTED/comment.md"
"""
MAKE = """#!/usr/bin/env bash
printf 'make %s\\n' "$*" >>"$POSTED/calls"
"""


class Checkout(Struct, frozen=True, dict=True):
    """A scratch checkout on a branch that changes environments, and the directory that gets what is posted."""

    directory: Path
    posted: Path
    base: str

    @property
    def calls(self) -> list[str]:
        return (self.posted / "calls").read_text().splitlines()

    @property
    def comment(self) -> str:
        return (self.posted / "comment.md").read_text()

    def run(self, script: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a step as a runner does, in bash that ends at the first error."""
        around = {
            "PATH": f"{self.posted.parent / 'bin'}:/usr/bin:/bin",
            "POSTED": str(self.posted),
            "HOME": os.environ["HOME"],
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.directory,
            env={**around, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    directory, posted, tools = (tmp_path / name for name in ("checkout", "posted", "bin"))
    for path in (directory / "environments", directory / ".venv/bin", posted, tools):
        path.mkdir(parents=True)
    shutil.copytree(CI, directory / "docs/ci")
    for name, text in (("gh", GH), ("curl", CURL), ("make", MAKE)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    program = directory / ".venv/bin/warmbase"
    started = shlex.join([sys.executable, "-c", "from warmbase.cli.main import main; main()"])
    program.write_text(f'#!/usr/bin/env bash\nPYTHONPATH={shlex.quote(str(PROJECT))} exec {started} "$@"\n')
    program.chmod(0o755)
    (directory / ".gitignore").write_text(".venv/\ncomment.md\n")
    (directory / "environments/dev.yaml").write_text(DEV)
    (directory / "environments/same.yaml").write_text(DEV.replace("name: dev", "name: same"))
    git(directory, "init", "--quiet", "--initial-branch=main")
    base = commit(directory, "environments")
    (directory / "environments/dev.yaml").write_text(DEV.replace("200 GiB", "900 GiB"))
    (directory / "environments/new one.yaml").write_text(DEV.replace("name: dev", "name: other"))
    commit(directory, "more data, and another environment")
    return Checkout(directory=directory, posted=posted, base=base)


def steps_of_github(checkout: Checkout, **variables: str) -> list[subprocess.CompletedProcess[str]]:
    """Run the steps of the workflow in order; one that fails ends all but those that run nevertheless."""
    workflow: Any = yaml.safe_load((CI / "github-action.yml").read_text())
    values = {
        "github.event.pull_request.base.sha": checkout.base,
        "github.event.pull_request.number": "7",
        "github.token": "secret",
    }
    around = {"GITHUB_REPOSITORY": "us/data", "GITHUB_STEP_SUMMARY": str(checkout.posted / "summary.md"), **variables}
    results: list[subprocess.CompletedProcess[str]] = []
    for step in workflow["jobs"]["plan"]["steps"]:
        failed = any(result.returncode for result in results)
        if "run" in step and (not failed or "!cancelled()" in step.get("if", "")):
            given = {
                name: EXPRESSION.sub(lambda found: values[found[1]], text) for name, text in step.get("env", {}).items()
            }
            results.append(checkout.run(step["run"], {**around, **given}))
    return results


def steps_of_gitlab(checkout: Checkout, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the job in one shell, as GitLab's runner does."""
    job: Any = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["warmbase"]
    predefined = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": checkout.base,
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
    }
    return checkout.run("\n".join(job["script"]), {**predefined, **variables})


def assert_compares(comment: str) -> None:
    """Assert that the comment has the change of one environment, and the plan of the other, which is new."""
    assert comment.startswith("<!-- warmbase -->\n")
    assert re.search(r"\*\*environments/dev\.yaml\*\*: \$591 → \$[\d,]+ a month \(\+\$[\d,]+, \+\d+ %\)", comment)
    assert "**environments/new one.yaml**: $591 a month (2 x m7g.xlarge)" in comment
    assert "same.yaml" not in comment
    assert len(comment.splitlines()) <= 2 * 61 + 1


@pytest.mark.thorough
def test_github_posts_the_difference(checkout: Checkout) -> None:
    results = steps_of_github(checkout)
    assert [result.returncode for result in results] == [0, 0, 0], results
    assert_compares(checkout.comment)
    assert (checkout.posted / "summary.md").read_text() == checkout.comment
    assert checkout.calls[0] == "make setup"
    assert checkout.calls[-1] == "pr comment 7 --repo us/data --body-file comment.md"


@pytest.mark.thorough
@pytest.mark.thorough
def test_github_updates_its_earlier_comment(checkout: Checkout) -> None:
    steps_of_github(checkout, EARLIER="4711\n4712\n")
    assert_compares(checkout.comment)
    assert checkout.calls[-1] == "api --method PATCH repos/us/data/issues/comments/4711 --field body=@comment.md"


@pytest.mark.thorough
def test_gitlab_posts_the_difference(checkout: Checkout) -> None:
    result = steps_of_gitlab(checkout, WARMBASE_GITLAB_TOKEN="token")
    assert result.returncode == 0, result.stderr
    assert_compares(checkout.comment)
    [setup, posted] = checkout.calls
    assert setup == "make setup"
    assert "--header PRIVATE-TOKEN: token --data-urlencode body@comment.md" in posted
    assert posted.endswith("https://gitlab.example.com/api/v4/projects/12/merge_requests/7/notes")


@pytest.mark.thorough
def test_gitlab_without_a_token_prints_the_difference(checkout: Checkout) -> None:
    result = steps_of_gitlab(checkout)
    assert result.returncode == 0, result.stderr
    assert_compares(result.stdout)
    assert checkout.calls == ["make setup"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("{hit_ratio: 0.9", "{p99: 1 ms, hit_ratio: 0.9"), 3, "no cluster meets the targets"),
        (("200 GiB", "200 GB"), 2, "workload.stored"),
        (
            ("clusters:", 'overrides: {hbase-site: {"hbase.regionserver.handlers.count": "60"}}\nclusters:'),
            3,
            "Lint found errors",
        ),
    ],
)
def test_a_change_that_is_refused_fails_the_job_and_is_posted(
    checkout: Checkout, change: tuple[str, str], code: int, message: str
) -> None:
    (checkout.directory / "environments/dev.yaml").write_text(DEV.replace(*change))
    commit(checkout.directory, "a change that is refused")
    github = steps_of_github(checkout)
    assert [result.returncode for result in github] == [0, code, 0], github
    assert message in checkout.comment
    assert "new one.yaml" in checkout.comment
    assert steps_of_gitlab(checkout, WARMBASE_GITLAB_TOKEN="token").returncode == code
    assert message in checkout.comment


def test_the_jobs_have_no_more_permissions_than_they_need() -> None:
    workflow: Any = yaml.safe_load((CI / "github-action.yml").read_text())
    assert workflow["defaults"]["run"]["shell"] == "bash", "with this shell, a failure before a pipe fails the step"
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    # YAML reads the key `on` as true.
    assert set(workflow[True]) == {"pull_request"}
    for step in workflow["jobs"]["plan"]["steps"]:
        assert "uses" not in step or COMMIT.match(step["uses"])
        assert "${{" not in step.get("run", ""), "an expression in a script runs what a pull request writes into it"
