"""The wheel as a stranger installs it: what it adds to an environment, and what works in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

from local_aws.server import local_aws
from tests.hfile.printed import written
from tests.patience import HANG_SECONDS
from warmbase.cli.commands import COMMANDS, OF_CHECKOUT

PROJECT: Final = Path(__file__).parents[1]
MOST_WHEEL_BYTES: Final = 5 * 1024 * 1024
MOST_MEGABYTES: Final = 150
UV: Final = PROJECT / ".venv" / "bin" / "uv"
NEW: Final = ("new", "events", "--stored", "3TiB", "--reads", "2000", "--row", "2KiB", "--region", "us-east-1", "--yes")

pytestmark = pytest.mark.thorough


def call(command: Sequence[str | Path], directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this checkout on its path."""
    return subprocess.run(
        command,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(Path.home()), "COLUMNS": "80", **variables},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def checked(command: Sequence[str | Path], directory: Path, **variables: str) -> str:
    process = call(command, directory, **variables)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    directory = tmp_path_factory.mktemp("dist")
    checked([UV, "build", "--quiet", "--system-certs", "--wheel", "--out-dir", directory, PROJECT], directory)
    [wheel] = directory.glob("*.whl")
    return wheel


class Installation:
    """A virtual environment with the wheel, and an empty folder beside it."""

    def __init__(self, directory: Path, wheel: Path, extra: str = "") -> None:
        self.venv, self.folder = directory / "venv", directory / "empty"
        self.folder.mkdir()
        checked([UV, "venv", "--quiet", self.venv], directory)
        requirement = f"warmbase{extra} @ file://{wheel}"
        checked(
            [UV, "pip", "install", "--quiet", "--system-certs", "--python", self.venv / "bin/python", requirement],
            directory,
        )

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `warmbase` in the empty folder."""
        return call([self.venv / "bin/warmbase", *arguments], self.folder, **variables)

    def checked(self, *arguments: str, **variables: str) -> str:
        """Run `warmbase` in the empty folder, and return what it prints."""
        return checked([self.venv / "bin/warmbase", *arguments], self.folder, **variables)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    return Installation(tmp_path_factory.mktemp("small"), wheel)


def test_the_wheel_is_small_and_has_one_name(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_WHEEL_BYTES
    with ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
        files = {name for name in archive.namelist() if name.startswith("warmbase/")}
    assert {name for name in names if not name.endswith(".dist-info")} == {"warmbase"}
    for part in (
        "stacks/network.py",
        "configurations/launch.py",
        "dashboards/boards.py",
        "bootstrap-actions/claim-root.sh",
    ):
        assert f"warmbase/{part}" in files


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "prod"),
        ("plan", "prod", "--output", "json"),
        ("explore", "--help"),
        ("lint", "prod"),
        ("lint", "--file", str(PROJECT / "docs/published-recipe.sh"), "--least", "error"),
        ("render", "prod"),
        ("render", "prod", "--format", "hbase-site"),
        ("explain", "prod", "hbase.bucketcache.size"),
        ("compare", "prod"),
    ],
    ids=" ".join,
)
def test_commands_that_read_need_no_extra(small: Installation, command: Sequence[str]) -> None:
    process = small.run(*command)
    assert process.returncode in {0, 3}, process.stderr
    assert process.stdout


def test_a_folder_with_nothing_but_an_environment_is_enough(small: Installation) -> None:
    small.checked(*NEW)
    assert [file.name for file in small.folder.iterdir()] == ["environments"]
    assert small.checked("plan", "events").startswith("events / blue")
    assert "emr-" in small.checked("render", "events", "--format", "run-job-flow")


def test_a_local_root_is_inspected(small: Installation, tmp_path: Path) -> None:
    family = tmp_path / "hbase/data/default/t" / f"{1:032x}" / "cf"
    family.mkdir(parents=True)
    for number, file in enumerate(written()):
        shutil.copy(file, family / f"{number:032x}")
    target = tmp_path / "inspection.json"
    small.checked("inspect", str(tmp_path / "hbase"), "--write", str(target))
    assert target.exists()


def test_what_is_not_installed_is_named_with_the_way_to_it(small: Installation) -> None:
    process = small.run("deploy", "prod")
    assert process.returncode == 2
    assert "fix: pip install 'warmbase[" in process.stderr


def test_the_help_lists_what_a_wheel_has(small: Installation) -> None:
    listed = set(re.findall(r"^(?:[A-Z][a-z]+)? +([a-z-]+)  +[A-Z]", small.checked("--help"), re.MULTILINE))
    assert listed >= set(COMMANDS) - set(OF_CHECKOUT) - {"release-regions"}
    assert not listed & set(OF_CHECKOUT)


def test_the_library_is_typed_and_answers(small: Installation) -> None:
    code = "from warmbase import plan; print(plan('prod').core.instance_type)"
    assert checked([small.venv / "bin/python", "-c", code], small.folder).strip() == "r8g.xlarge"
    assert (next((small.venv / "lib").glob("python*")) / "site-packages/warmbase/py.typed").exists()


def test_the_small_installation_takes_no_more_than_150_megabytes(small: Installation) -> None:
    size = int(checked(["du", "-sm", small.venv], small.folder).split()[0])
    assert size <= MOST_MEGABYTES


@pytest.fixture(scope="module")
def deploying(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    """The wheel with all that deploys, and the CDK command line of this checkout on the PATH."""
    return Installation(tmp_path_factory.mktemp("deploying"), wheel, "[deploy]")


@pytest.mark.e2e
def test_a_cluster_is_deployed_from_an_empty_folder(deploying: Installation) -> None:
    path = f"{PROJECT / 'node_modules/.bin'}:{PROJECT / '.venv/bin'}:{os.environ['PATH']}"
    deploying.checked(*NEW)
    with local_aws() as aws:
        variables = {name: value for name, value in aws.environment.items() if name.startswith("AWS_")}
        example = deploying.run("deploy", "prod", "--yes", PATH=path, **variables)
        assert (example.returncode, "fix: copy it: mkdir -p environments && cp" in example.stderr) == (2, True)
        refused = deploying.run("deploy", "events", "--yes", PATH=path, **variables)
        [bootstrap] = re.findall(r"npx (cdk bootstrap aws://\S+)", refused.stdout + refused.stderr)
        checked(bootstrap.split(), deploying.folder, PATH=path, **variables)
        deployed = deploying.run("deploy", "events", "--yes", PATH=path, **variables)
        assert deployed.returncode == 0, deployed.stdout + deployed.stderr
        assert (deploying.folder / "environments/events.launch/blue").is_dir()
        assert "blue" in deploying.checked("status", "events", PATH=path, **variables)
