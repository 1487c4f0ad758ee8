"""An environment file at a git revision, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkout import commit, git
from tests.command import PROJECT
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.read import environment_at, is_revision
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import GIB
from warmbase.sizing.workload.popularity import Curve


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a git checkout whose first commit has dev with 200 GiB, and whose second has 900 GiB."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    file = tmp_path / "environments/dev.yaml"
    file.parent.mkdir()
    text = (PROJECT / "environments/dev.yaml").read_text()
    file.write_text(text)
    commit(tmp_path, "dev")
    file.write_text(text.replace("200 GiB", "900 GiB"))
    commit(tmp_path, "more data")
    return tmp_path


def test_the_file_is_read_as_it_was(checkout: Path) -> None:
    file = checkout / "environments/dev.yaml"
    earlier = environment_at(file, "HEAD~1")
    assert earlier.workload.stored_bytes == 200 * GIB
    assert earlier.source == "HEAD~1:environments/dev.yaml"
    assert environment_at(file, "main").workload == read_environment(str(file)).workload


def test_a_file_that_the_environment_names_is_read_as_it_was_too(checkout: Path) -> None:
    file, curve = checkout / "environments/dev.yaml", checkout / "measured/trace.csv"
    curve.parent.mkdir()
    curve.write_text("rows,reads\n0.1,0.5\n1,1\n")
    file.write_text(
        file.read_text().replace("regions: 40", "regions: 40\n  popularity: {curve: ../measured/trace.csv}")
    )
    commit(checkout, "curve")
    curve.write_text("rows,reads\n0.1,0.9\n1,1\n")
    earlier, today = environment_at(file, "HEAD").workload.popularity, read_environment(str(file)).workload.popularity
    assert isinstance(earlier, Curve)
    assert isinstance(today, Curve)
    assert (earlier.points[0], today.points[0]) == ((0.1, 0.5), (0.1, 0.9))


def test_a_faulty_file_is_named_with_its_revision(checkout: Path) -> None:
    file = checkout / "environments/dev.yaml"
    file.write_text(file.read_text().replace("900 GiB", "900 GB"))
    commit(checkout, "wrong unit")
    with pytest.raises(InvalidInput, match=r"^HEAD:environments/dev.yaml:\d+  workload.stored"):
        environment_at(file, "HEAD")


@pytest.mark.parametrize(
    ("file", "revision", "message"),
    [
        ("dev", "nosuch", "no such file and no such git revision"),
        ("dev", "--output=/tmp/x", "no such file and no such git revision"),
        ("dev", "HEAD~7", "no such file and no such git revision"),
        ("dev", "HEAD:environments/dev.yaml", "no such file and no such git revision"),
        ("new", "HEAD", "has no file environments/new.yaml"),
    ],
)
def test_what_a_checkout_lacks_is_refused(checkout: Path, file: str, revision: str, message: str) -> None:
    path = checkout / f"environments/{file}.yaml"
    path.write_text((PROJECT / "environments/dev.yaml").read_text())
    with pytest.raises(InvalidInput) as error:
        environment_at(path, revision)
    assert message in str(error.value)
    assert error.value.problems[0].where == f"--against {revision}"


def test_without_a_checkout_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    file = tmp_path / "dev.yaml"
    file.touch()
    assert not is_revision(file, "main")
    with pytest.raises(InvalidInput, match="not in a git checkout"):
        environment_at(file, "main")


def test_without_git_the_message_says_so(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = checkout / "environments/dev.yaml"
    assert is_revision(file, "main")
    monkeypatch.setenv("PATH", str(checkout))
    assert not is_revision(file, "main")
    with pytest.raises(InvalidInput, match="git is not installed"):
        environment_at(file, "main")
