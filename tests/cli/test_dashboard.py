"""warmbase dashboard: a page or a picture of dashboards, and what it does not draw."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import warmbase
from dashboards.boards import boards
from environments.planning import plan_of
from environments.reader import read_environment
from environments.root import Root
from reports.dashboards_page import PICTURE, write_dashboard_pictures
from reports.lab_page import DOCS
from tests.command import run


def draw(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(warmbase, ["dashboard", *arguments])
    return result.exit_code, result.output


def test_the_page_has_every_graph_of_every_dashboard_under_its_title(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert draw("prod", "--preview", str(file)) == (0, f"{file}\n")
    environment = read_environment("prod")
    plan = plan_of(environment, environment.active)
    text = " ".join(re.findall(r"<t[a-z]+[^>]*>([^<]+)</t[a-z]+>", file.read_text(encoding="utf-8")))
    for name, graphs in boards(plan, Root(bucket="bucket", prefix="hbase")).items():
        assert name in file.read_text(encoding="utf-8")
        for graph in graphs:
            assert graph.title.split(",")[0].replace("'", "&#39;")[:40].split("&#39;")[0] in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("board", ["cache", "reads", "nodes"])
@pytest.mark.thorough
def test_a_picture_is_one(board: str, tmp_path: Path) -> None:
    file = tmp_path / "board.png"
    assert draw("prod", "--preview", str(file), "--board", board)[0] == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_another_kind_of_file_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    status = run("dashboard", "prod", "--preview", str(tmp_path / "x.pdf"))
    assert status.returncode == 2
    assert "name a file that ends in .html or .png" in status.stderr
    assert not list(tmp_path.iterdir())


def test_an_environment_without_a_cache_is_drawn_too(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert draw("tests/environments/examples/recovery.yaml", "--preview", str(file))[0] == 0
    assert "-cache</h2>" not in file.read_text(encoding="utf-8")


def test_the_picture_of_the_readme_is_current(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if request.config.getoption("--update-golden"):
        write_dashboard_pictures(DOCS)
    (tmp_path / "pictures").mkdir()
    write_dashboard_pictures(tmp_path)
    drawn, committed = (directory / "pictures" / PICTURE for directory in (tmp_path, DOCS))
    assert drawn.read_text(encoding="utf-8") == committed.read_text(encoding="utf-8")
