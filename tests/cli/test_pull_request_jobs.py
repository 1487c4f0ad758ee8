"""The jobs of docs/ci for GitHub and GitLab: their very steps, in a scratch checkout, with stand-ins for what posts."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
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
cp posted.md "$POSTED/comment.md"
"""
CURL = """#!/usr/bin/env bash
printf '%s\\n' "$*" >>"$POSTED/calls"
cp posted.md "$POSTED/comment.md"
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

    @property
    def empty(self) -> Path:
        """The directory of a job that gets no file but the artifact of the job before it."""
        (directory := self.posted.parent / "job").mkdir(exist_ok=True)
        shutil.copy(self.directory / "comment.md", directory, follow_symlinks=False)
        return directory

    def run(
        self, script: str, variables: Mapping[str, str], directory: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a step as a runner does, in bash that ends at the first error."""
        around = {
            "PATH": f"{self.posted.parent / 'bin'}:/usr/bin:/bin",
            "POSTED": str(self.posted),
            "HOME": os.environ["HOME"],
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=directory or self.directory,
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
    """Run the steps of both jobs in order; one that fails ends all but those that run nevertheless."""
    workflow: Any = yaml.safe_load((CI / "github-action.yml").read_text())
    values = {
        "github.event.pull_request.base.sha": checkout.base,
        "github.event.pull_request.number": "7",
        "github.token": "secret",
    }
    around = {"GITHUB_REPOSITORY": "us/data", "GITHUB_STEP_SUMMARY": str(checkout.posted / "summary.md"), **variables}
    results: list[subprocess.CompletedProcess[str]] = []
    steps = [(job, step) for job in ("plan", "comment") for step in workflow["jobs"][job]["steps"]]
    for job, step in steps:
        failed = any(result.returncode for result in results)
        if "run" in step and (not failed or job == "comment"):
            given = {
                name: EXPRESSION.sub(lambda found: values[found[1]], text) for name, text in step.get("env", {}).items()
            }
            directory = checkout.empty if job == "comment" else None
            results.append(checkout.run(step["run"], {**around, **given}, directory))
    return results


def steps_of_gitlab(checkout: Checkout, **token: str) -> tuple[subprocess.CompletedProcess[str], ...]:
    """Run the script of each job in one shell, as GitLab's runner does; only the second one gets the token."""
    jobs: Any = yaml.safe_load((CI / "gitlab-ci.yml").read_text())
    predefined = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": checkout.base,
        "CI_API_V4_URL": "https://gitlab.example.com/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
    }
    planned = checkout.run("\n".join(jobs["warmbase"]["script"]), predefined)
    script = "\n".join(jobs["warmbase-comment"]["script"])
    return planned, checkout.run(script, {**predefined, **token}, checkout.empty)


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
    assert checkout.calls[-1] == "pr comment 7 --repo us/data --body-file posted.md"


@pytest.mark.thorough
def test_github_updates_its_earlier_comment(checkout: Checkout) -> None:
    steps_of_github(checkout, EARLIER="4711\n4712\n")
    assert_compares(checkout.comment)
    assert checkout.calls[-1] == "api --method PATCH repos/us/data/issues/comments/4711 --field body=@posted.md"


@pytest.mark.thorough
def test_gitlab_posts_the_difference(checkout: Checkout) -> None:
    for result in steps_of_gitlab(checkout, WARMBASE_GITLAB_TOKEN="token"):
        assert result.returncode == 0, result.stderr
    assert_compares(checkout.comment)
    [setup, posted] = checkout.calls
    assert setup == "make setup"
    assert "--header PRIVATE-TOKEN: token --data-urlencode body@posted.md" in posted
    assert posted.endswith("https://gitlab.example.com/api/v4/projects/12/merge_requests/7/notes")


@pytest.mark.thorough
def test_gitlab_without_a_token_prints_the_difference(checkout: Checkout) -> None:
    results = steps_of_gitlab(checkout)
    assert [result.returncode for result in results] == [0, 0], results
    assert_compares(results[0].stdout)
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
    assert [result.returncode for result in steps_of_gitlab(checkout, WARMBASE_GITLAB_TOKEN="token")] == [code, 0]
    assert message in checkout.comment


@pytest.mark.parametrize("name", ["github-action.yml", "gitlab-ci.yml"])
def test_no_token_meets_code_of_the_branch(name: str) -> None:
    document: Any = yaml.safe_load((CI / name).read_text())
    jobs = document.get("jobs", document)
    assert len(jobs) == 2
    for job in jobs.values():
        text = json.dumps(job)
        runs_the_branch = "checkout@" in text or ("uses" not in text and "GIT_STRATEGY" not in text)
        assert runs_the_branch == ("make setup" in text) == ("plan-changes.sh" in text)
        assert runs_the_branch != ("TOKEN" in text)
        assert runs_the_branch != ("write" in json.dumps(job.get("permissions", {})) or "environment" in job)


@pytest.mark.parametrize("post", [steps_of_github, steps_of_gitlab])
def test_an_artifact_posts_no_line_of_another_file(checkout: Checkout, post: Callable[..., Any]) -> None:
    (secret := checkout.posted.parent / "environ").write_text("WARMBASE_GITLAB_TOKEN=token\n")
    program = checkout.directory / "docs/ci/plan-changes.sh"
    program.write_text(f"#!/bin/sh\nsleep 0.3\nrm -f comment.md\nln -s {secret} comment.md\n")
    assert post(checkout, WARMBASE_GITLAB_TOKEN="token")[-1].returncode != 0
    assert checkout.calls == ["make setup"]


def test_a_note_carries_out_no_command_of_gitlab(checkout: Checkout) -> None:
    program = checkout.directory / "docs/ci/plan-changes.sh"
    program.write_text("#!/bin/sh\nprintf '/approve\\n  /merge\\na/b\\n'\n")
    steps_of_gitlab(checkout, WARMBASE_GITLAB_TOKEN="token")
    assert checkout.comment == "&#47;approve\n  &#47;merge\na/b\n"


def test_the_jobs_have_no_more_permissions_than_they_need() -> None:
    workflow: Any = yaml.safe_load((CI / "github-action.yml").read_text())
    assert workflow["defaults"]["run"]["shell"] == "bash", "with this shell, a failure before a pipe fails the step"
    assert workflow["permissions"] == {}
    permissions = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert permissions == {"plan": {"contents": "read"}, "comment": {"pull-requests": "write"}}
    # YAML reads the key `on` as true. With pull_request_target, a fork would get a token that may write.
    assert set(workflow[True]) == {"pull_request"}
    for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
        assert "uses" not in step or COMMIT.match(step["uses"])
        assert "checkout" not in step.get("uses", "") or step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), "an expression in a script runs what a pull request writes into it"
