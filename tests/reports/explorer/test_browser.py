"""The page in a real browser: its figures, keyboard, width, accessibility, requests and printed sheets."""

from __future__ import annotations

import json
import random
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from environments.planning import plan_of
from environments.reader import read_environment
from reports.explorer.day import day_document
from reports.explorer.server import HOST, ExplorerServer
from reports.explorer.subject import Subject
from sizing.units import format_duration, format_percent, format_usd
from tests.browser import PHONE_PIXELS, Observed, observed
from tests.command import PROJECT, run
from tests.pages import DOCS, README

ENVIRONMENT: Final = "dev"
SEED: Final = 1
QUICK_STATES: Final = 3
THOROUGH_STATES: Final = 12
BENCH_STATES: Final = 40
FEWEST_PRICES: Final = 2
"""While a slider moves for 600 ms, the page shows more than the price before it."""
PICTURES: Final = DOCS / "pictures"
DRAWN: Final = PROJECT / "tests/golden/prod/explore-pictures.json"
NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
TOLERANCE_PIXELS: Final = 0.5
MOST_BYTES: Final = 1_000_000
CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "workload.stored": ("30 GiB", "150 GiB", "700 GiB", "1.4 TiB", "9 TiB", "40 TiB"),
    "workload.row": ("4 KiB", "10 KiB", "64 KiB", "500 KiB"),
    "workload.cell": ("100 B", "1 KiB", "3 KiB"),
    "workload.block_size": ("16 KiB", "32 KiB", "64 KiB", "128 KiB"),
    "workload.popularity": ("uniform", "0.6", "0.85", "0.99", "1.2"),
    "workload.writes.bytes_per_second": ("0 B", "200 KiB", "5 MiB"),
    "workload.reads.per_second": ("20", "200", "1500", "12000"),
    "targets.hit_ratio": ("0.6", "0.9", "0.95", "0.99"),
    "targets.p99": ("", "5 ms", "80 ms", "1 s"),
    "targets.lost_nodes": ("0", "1", "2"),
    "targets.budget_usd_per_month": ("", "900", "20000"),
    "storage.mode": ("s3-cached", "s3-plain", "hdfs"),
}


def random_states(count: int) -> list[dict[str, str]]:
    """Return this many random states of the page, each with other values of some inputs."""
    draw = random.Random(SEED)
    return [
        {key: draw.choice(CHOICES[key]) for key in draw.sample(sorted(CHOICES), draw.randint(1, 5))}
        for _ in range(count)
    ]


@contextmanager
def served(environment: str = ENVIRONMENT) -> Iterator[str]:
    """Serve the page, and yield its address."""
    with ExplorerServer(Subject.read(environment, "blue"), 0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def page() -> Observed:
    """The observations of one short run of the browser."""
    with served() as url:
        return observed({"observe": "shortly", "url": url, "states": random_states(QUICK_STATES)})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """All other observations of the browser, on the page and on the file of a report."""
    file, comparison = (tmp_path_factory.mktemp("report") / name for name in ("plan.html", "compare.html"))
    assert run("plan", ENVIRONMENT, "--report", str(file)).returncode == 0
    assert run("compare", ENVIRONMENT, "--report", str(comparison)).returncode == 0
    with served() as url:
        wanted = {"url": url, "report": file.as_uri(), "comparison": comparison.as_uri()}
        return observed({"observe": "wholly", **wanted}) | {"files": (file, comparison)}


def printed(document: Observed) -> dict[str, str]:
    """Return the figures of a plan in JSON, formatted as on the page."""
    cold, lost = document["bad_hours"]["cold"], document["bad_hours"]["lost_node"]
    return {
        "price": format_usd(document["cost"]["usd_per_month"]),
        "nodes": f"{document['core']['count']} x {document['core']['instance_type']}",
        "hit_ratio": format_percent(document["hit_ratio"]["predicted"]),
        "p99": f"{document['throughput']['p99_latency_ms']:,.0f} ms",
        "cold": f"{cold['reads_per_second']:,.0f} reads/s" if cold and document["bucket_cache"] else "none",
        "lost_node": format_duration(lost["offline_seconds"]) if lost else "outage",
        "restart": format_duration(document["restart"]["seconds"]),
    }


def assert_as_printed(states: Sequence[Observed], directory: Path) -> None:
    """Assert that the figures of each state are those of `plan --output json` for the file that the page offers."""
    for state in states:
        file = directory / "state.yaml"
        file.write_text(state["yaml"], encoding="utf-8")
        document = json.loads(run("plan", str(file), "--output", "json", "--no-advice").stdout)
        assert state["isRefused"] == ("core" not in document), state
        if not state["isRefused"]:
            assert state["figures"] == printed(document), state["yaml"]


def test_figures_are_those_of_the_command(page: Observed, tmp_path: Path) -> None:
    assert_as_printed([*page["typed"], page["dragged"]["after"]], tmp_path)


@pytest.mark.thorough
def test_figures_of_many_states_are_those_of_the_command(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The option --inputs sets the number of states."""
    count = request.config.getoption("--inputs") or THOROUGH_STATES
    with served() as url:
        states = observed({"observe": "time", "url": url, "states": random_states(count)})["typed"]
    assert len(states) == count
    assert_as_printed(states, tmp_path)


@pytest.mark.bench
@pytest.mark.parametrize(("environment", "kinds"), [(ENVIRONMENT, ("typed", "slid")), ("prod", ("slid",))])
def test_the_headline_follows_a_change_at_once(environment: str, kinds: Sequence[str]) -> None:
    """For a tenth of the random states, no cluster of prod meets the targets, and the nearest one takes longer."""
    with served(environment) as url:
        found = observed({"observe": "time", "url": url, "states": random_states(BENCH_STATES)})
    times = {"typed": [state["milliseconds"] for state in found["typed"]], "slid": found["slid"]}
    lines = {
        kind: f"median {statistics.median(times[kind]):.0f} ms, p95 {tail_of(times[kind]):.0f} ms" for kind in times
    }
    sys.stdout.write(f"{environment}: {lines}\n")
    for kind in kinds:
        assert statistics.median(times[kind]) <= 100, lines
        assert tail_of(times[kind]) <= 250, lines


def tail_of(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def test_the_layout_does_not_shift_while_a_slider_moves(page: Observed) -> None:
    assert page["dragged"]["shifts"] == 0
    assert page["dragged"]["prices"] >= FEWEST_PRICES, "the headline does not follow a slider that moves"
    assert page["dragged"]["hash"].startswith("#workload.stored=")
    assert page["dragged"]["after"]["figures"] != page["dragged"]["before"]["figures"]


def test_the_first_day_marks_its_events_and_says_what_they_mean(page: Observed) -> None:
    environment = read_environment(ENVIRONMENT)
    day = day_document(plan_of(environment, environment.active))
    assert day is not None
    labels, texts = page["day"]
    assert labels == ["start", "full", "restart", "node lost", "refilled"]
    assert texts == [event["text"] for event in day["events"]]


def test_undo_reverts_a_whole_move_of_a_slider(page: Observed) -> None:
    assert page["dragged"]["undone"] == page["dragged"]["before"]


def test_axe_finds_no_violation(page: Observed) -> None:
    assert page["axe"]["light"] == []


def test_the_page_fits_the_width_of_a_phone(page: Observed) -> None:
    assert page["width"]["explore"] <= PHONE_PIXELS


def test_no_label_touches_a_line_or_another_label_on_a_phone(page: Observed) -> None:
    assert page["touching"] == []


def test_the_browser_logs_no_message(page: Observed) -> None:
    assert page["messages"] == []


@pytest.mark.thorough
def test_an_address_restores_its_state(whole: Observed, tmp_path: Path) -> None:
    assert "stored: 1 TiB" in whole["linked"]["yaml"]
    assert_as_printed([whole["linked"]], tmp_path)


@pytest.mark.thorough
def test_the_page_works_with_the_keyboard_alone(whole: Observed) -> None:
    keyed = whole["keyed"]
    assert (keyed["keep"], keyed["slider"], keyed["plot"]) == (True, True, True)
    assert keyed["stored"] not in {"", "200 GiB"}
    assert "hit ratio" in keyed["readout"]
    before, now = keyed["compared"]
    assert before == whole["first"]["figures"]["price"]
    assert "(+$" in now


@pytest.mark.thorough
def test_a_refused_value_has_its_message_below_the_field(whole: Observed) -> None:
    assert whole["refused"]["isRefused"]
    assert (
        whole["message"]
        == "workload.stored: 3 TB is 2.728 TiB; did you mean that, or 3 TiB? Fix: write 2.728 TiB, or 3 TiB."
    )


@pytest.mark.thorough
def test_a_range_has_the_figures_of_its_middle_and_a_cluster_of_its_own(whole: Observed) -> None:
    price, middle, ranges, place = whole["ranged"]
    planned = run("plan", ENVIRONMENT, "--set", "workload.stored=500GiB", "--output", "json")
    assert price == format_usd(json.loads(planned.stdout)["after"]["usd_per_month"])
    assert middle == "These figures are for the middle of each range: workload.stored 500 GiB."
    assert ranges == "workload.stored 100 GiB to 900 GiB"
    assert place == "60", "the slider is at the middle"
    assert whole["cut"] == [], "a range is cut off in its field"


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["dark", "refused", "ranged", "report", "comparison"])
def test_axe_finds_no_violation_in_other_states(whole: Observed, state: str) -> None:
    assert whole["axe"][state] == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["explore", "report", "comparison"])
def test_the_page_is_printed_on_one_sheet(whole: Observed, kind: str) -> None:
    assert whole["sheets"][kind] == 1


@pytest.mark.thorough
def test_no_request_leaves_the_machine(whole: Observed) -> None:
    requests, file = whole["requests"], whole["files"][0].as_uri()
    assert {url.split("/")[2].partition(":")[0] for url in requests["explore"] if url.startswith("http")} == {HOST}
    assert [url for url in requests["report"] if url not in {file, "data:,"}] == []
    assert whole["messages"] == []


@pytest.mark.thorough
def test_the_report_has_the_document_of_the_command_and_its_sliders_stop_at_plans(whole: Observed) -> None:
    assert whole["report"] == json.loads(run("plan", ENVIRONMENT, "--output", "json").stdout)
    assert whole["unplanned"] == ["200 GiB", printed(whole["report"])], "an address shows a value without its plan"
    assert whole["width"]["report"] <= PHONE_PIXELS
    assert all(file.stat().st_size <= MOST_BYTES for file in whole["files"])
    triple = run("plan", ENVIRONMENT, "--set", "workload.stored=600GiB", "--output", "json")
    assert whole["stopped"]["price"] == format_usd(json.loads(triple.stdout)["after"]["usd_per_month"])
    plain = run("plan", ENVIRONMENT, "--set", "storage.mode=s3-plain", "--output", "json")
    before, after = whole["modes"]
    assert before == printed(whole["report"])["price"]
    assert after.startswith(format_usd(json.loads(plain.stdout)["after"]["usd_per_month"]))


@pytest.mark.thorough
def test_the_report_of_a_comparison_shows_the_modes_side_by_side(whole: Observed) -> None:
    head, *rows = whole["side"]
    assert head == "figures3-cacheds3-plainhdfs"
    assert any(row.startswith("a month$") for row in rows)
    assert whole["width"]["comparison"] <= PHONE_PIXELS


@pytest.mark.thorough
def test_a_mode_without_a_cache_has_no_plots_of_one(whole: Observed) -> None:
    assert whole["plots"] == ["plot-cold", "plot-day"]


@pytest.fixture(scope="module")
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """The texts and places on the pictures of the documentation. --update-golden draws the pictures anew."""
    is_anew = request.config.getoption("--update-golden")
    pictures = PICTURES if is_anew else tmp_path_factory.mktemp("pictures")
    with served("prod") as url:
        found = observed({"observe": "draw", "url": url, "pictures": str(pictures)})
    if is_anew:
        files = {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted(pictures.glob("*.png"))}
        DRAWN.write_text(json.dumps(found | {"files": files}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def test_the_pictures_in_the_documentation_are_those_of_the_last_drawing() -> None:
    committed = json.loads(DRAWN.read_text(encoding="utf-8"))["files"]
    assert committed == {file: sha256((PICTURES / file).read_bytes()).hexdigest() for file in committed}
    assert {"explore.png", "first-day.png"} <= set(committed)


@pytest.mark.thorough
def test_the_pictures_in_the_documentation_are_current(drawn: Observed) -> None:
    """Compare texts, and the places of curves, marks and labels; the pixels depend on the fonts of the machine."""
    committed = json.loads(DRAWN.read_text(encoding="utf-8"))
    places = committed.pop("places")
    del committed["files"]
    assert {key: drawn[key] for key in committed} == committed
    assert [NUMBER.sub("", place) for place in drawn["places"]] == [NUMBER.sub("", place) for place in places]
    for now, before in zip(drawn["places"], places, strict=True):
        assert numbers(now) == pytest.approx(numbers(before), abs=TOLERANCE_PIXELS), before


def numbers(place: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(place)]


@pytest.mark.thorough
@pytest.mark.parametrize("page", [README, DOCS / "explore.md"])
def test_the_words_about_a_picture_are_those_of_the_picture(page: Path, drawn: Observed) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    rows = {drawn["compared"][place]: drawn["compared"][place + 1 : place + 3] for place in range(0, 21, 3)}
    [(_, price), (before, after)] = rows["Price per month"], rows["Loss of a node"]
    more = price.partition("+")[2].strip(")")
    assert f"costs {more} a month more, and rows are offline for {after} instead of {before}" in text


@pytest.mark.thorough
def test_the_readme_says_when_the_caches_of_the_picture_are_full(drawn: Observed) -> None:
    [full] = [event for event in drawn["day"] if ", the caches are full." in event]
    hours = full.partition(",")[0].removeprefix("After ")
    assert f"its caches are full after {hours}." in README.read_text(encoding="utf-8")
