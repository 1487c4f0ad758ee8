"""An environment's name: files of the current folder come first, and those of warmbase stay known."""

from __future__ import annotations

from pathlib import Path

import pytest

from warmbase.environments.reader import locate
from warmbase.ground.errors import InvalidInput
from warmbase.operations.deploy.cdk import selection

SHIPPED = Path(__file__).parents[2] / "warmbase" / "examples"


def test_the_current_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "environments"
    mine.mkdir()
    for name in ("mine", "prod"):
        (mine / f"{name}.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert locate("mine") == mine / "mine.yaml"
    assert locate("prod") == mine / "prod.yaml"
    assert locate("dev") == SHIPPED / "dev.yaml"
    with pytest.raises(InvalidInput, match="did you mean 'mine'"):
        locate("mino")


def test_the_cdk_gets_the_same_file_although_it_runs_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments/prod.yaml").write_text("")
    assert selection("prod") == "environment=prod"
    monkeypatch.chdir(tmp_path)
    assert selection("prod") == f"environment={tmp_path / 'environments/prod.yaml'}"
    assert selection("dev") == "environment=dev"
