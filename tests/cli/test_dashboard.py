"""warmbase dashboard: a page or a picture of dashboards, and what it does not draw."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import warmbase
from dashboards.boards import boards
from dashboards.cache import HIT_RATIO_TITLE
from environments.planning import plan_of
from environments.reader import locate, read_environment
from environments.root import Root
from reports.dashboards_page import PICTURE, write_dashboard_pictures
from reports.lab_page import DOCS
from tests.browser import PHONE_PIXELS, observed
from tests.command import run

EVENTS = ("restart", "kill", "cache lost", "back", "back", "back")


def draw(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(warmbase, ["dashboard", *arguments])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def page_of_hdfs(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("hdfs")
    environment, file = directory / "hdfs.yaml", directory / "page.html"
    environment.write_text(f"{locate('dev').read_text()}storage: {{mode: hdfs}}\n")
    assert draw(str(environment), "--preview", str(file)) == (0, f"{file}\n")
    return file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("preview") / "page.html"
    assert draw("prod", "--preview", str(file)) == (0, f"{file}\n")
    assert [path.name for path in file.parent.iterdir()] == ["page.html"]
    return file.read_text(encoding="utf-8")


def test_the_page_draws_each_graph(page: str) -> None:
    environment = read_environment("prod")
    plan = plan_of(environment, environment.active)
    drawn = re.findall(r'<svg role="img" aria-label="([^"]+)"', page)
    titles = []
    for name, graphs in boards(plan, Root(bucket="bucket", prefix="hbase")).items():
        assert f"<h2>{name}</h2>" in page
        titles += [html.escape(graph.title) for graph in graphs]
    assert drawn == titles


def test_values_are_read_off_a_graph_with_pointer_keys_and_finger(page: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    found = observed({"observe": "preview", "url": file.as_uri()})
    document = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    name, points = next(iter(document["series"].items()))
    values = {minute: f"{value:g}" for minute, value in points}
    for text in (found["pointed"], found["keyed"], found["touched"]):
        minute = re.match(r"Minute (\d+), hit ratio: ", text)
        assert minute, text
        assert f": {name} {values[int(minute[1])]}" in text
    last = max(minute for points in document["series"].values() for minute, _ in points)
    assert found["last"].startswith(f"Minute {last:g}, ")
    assert found["place"] == pytest.approx(int(re.findall(r"\d+", found["keyed"])[0]) / document["most"], abs=0.01)
    assert found["cursors"] == page.count("<svg "), "each graph follows the pointer"
    assert (found["axe"], found["messages"]) == ([], [])
    assert found["width"] <= PHONE_PIXELS


def test_what_hdfs_adds_is_drawn_from_the_plan_and_says_so(page_of_hdfs: str) -> None:
    planned = [picture for picture in page_of_hdfs.split("<svg ") if "Not recorded. Drawn from the plan" in picture]
    titles = re.findall(r'aria-label="([^"]+)"', "".join(picture.split(">")[0] for picture in planned))
    assert [title.partition(",")[0].partition(" (")[0] for title in titles] == [
        "Store files on the server&#x27;s own host",
        "RegionServers with few store files on their own hosts",
        "HDFS capacity in use",
    ]


@pytest.mark.parametrize("mode", ["page", "page_of_hdfs"])
def test_each_graph_links_to_its_row_in_the_documentation(mode: str, request: pytest.FixtureRequest) -> None:
    html_text: str = request.getfixturevalue(mode)
    anchors = re.findall(r'<a id="(graph-[^"]+)"></a>', (DOCS / "dashboards.md").read_text(encoding="utf-8"))
    links = re.findall(r'<a href="([^"]+)#([^"]+)" aria-label="What is drawn: ', html_text)
    assert len(links) == html_text.count("<svg ")
    assert {anchor for _, anchor in links} <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_the_link_starts_where_the_page_is(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    draw("tests/environments/examples/recovery.yaml", "--preview", str(file))
    [link] = set(re.findall(r'<a href="([^"#]+)#', file.read_text(encoding="utf-8")))
    assert (tmp_path / link).resolve() == DOCS / "dashboards.md"


def test_each_picture_of_the_page_marks_the_events(page: str) -> None:
    for picture in page.split("<svg ")[1:]:
        words = Counter(re.findall(r"<text [^>]*>([^<]+)</text>", picture))
        assert words >= Counter(EVENTS), picture.split(">")[0]


def test_what_the_lab_does_not_record_is_drawn_from_the_plan_and_says_so(page: str) -> None:
    [planned] = [picture for picture in page.split("<svg ") if "Not recorded. Drawn from the plan" in picture]
    assert "HDFS capacity in use" in planned.split(">")[0]


def test_lines_of_the_plan_have_the_scale_of_the_recording(page: str) -> None:
    assert "maximum heap of the recorded servers (plan: 12,544 MiB)" in page
    assert "recorded servers when warm (plan: 0.856)" in page


def test_the_ratio_of_hbase_is_beside_the_hit_ratio(page: str) -> None:
    [first] = [picture for picture in page.split("<svg ") if HIT_RATIO_TITLE in picture.split(">")[0]]
    assert "as HBase reports it" in first


def test_the_number_of_nodes_is_that_of_the_recording(page: str) -> None:
    assert "recorded servers (the plan has 10 core nodes)" in page


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
