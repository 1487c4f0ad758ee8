"""The page in a real browser: its figures, keyboard, width, accessibility, requests and printed sheets."""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final
from urllib.parse import quote_plus

import pytest
from msgspec.structs import replace

from tests.browser import PHONE_PIXELS, Observed, observed
from tests.command import PROJECT, run
from tests.pages import DOCS, README
from tests.reports.explorer.page_cases import CASES, HBASE, TABLES, TRINO, PageCase
from tests.tiers import quick_where
from warmbase.engines.hbase.plots import day_plot
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.ground.units import format_usd
from warmbase.reports.explorer.answer import PENDING
from warmbase.reports.explorer.server import HOST

PROD: Final = replace(HBASE, environment="prod")
QUICK_STATES: Final = 3
THOROUGH_STATES: Final = 30
BENCH_STATES: Final = 40
FEWEST_PRICES: Final = 2
"""While a slider moves, the page shows more than the price before it."""
PICTURES: Final = DOCS / "pictures"
DRAWN: Final = PROJECT / "tests/golden/prod/explore-pictures.json"
NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
TOLERANCE_PIXELS: Final = 0.5
MOST_BYTES: Final = 1_000_000


@pytest.fixture(scope="module", params=quick_where(lambda name: name != "tables", CASES))
def case(request: pytest.FixtureRequest) -> PageCase:
    """A cluster of each engine."""
    return CASES[request.param]


@pytest.fixture(scope="module")
def page(case: PageCase) -> Observed:
    """The observations of one short run of the browser."""
    with case.served() as url:
        values = {"states": case.states(QUICK_STATES), "key": case.key, "wide": case.wide}
        values["compression"] = case.compression
        return observed({"observe": "shortly", "url": url, **values})


@pytest.fixture(scope="module")
def whole(case: PageCase, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """All other observations of the browser, on the page and on the file of a report."""
    file, comparison = (tmp_path_factory.mktemp("report") / name for name in ("plan.html", "compare.html"))
    assert command(case, "plan", "--report", str(file)).returncode == 0
    assert command(case, "compare", "--report", str(comparison)).returncode == 0
    values = {"key": case.key, "linked": case.linked, "refused": case.refused[0], "range": case.range[0]}
    with case.served() as url:
        pages = {"url": url, "report": file.as_uri(), "comparison": comparison.as_uri()}
        found = observed({"observe": "wholly", **pages, **values, "wide": case.wide, "option": case.option})
    return found | {"files": (file, comparison)}


def command(case: PageCase, name: str, *options: str) -> CompletedProcess[str]:
    return run(name, case.environment, "--cluster", case.cluster, *options)


def usd_at(case: PageCase, key: str, text: str) -> str:
    """Return the price for another value, as the command has it."""
    document = json.loads(command(case, "plan", "--set", f"{key}={text.replace(' ', '')}", "--output", "json").stdout)
    after = document["after"]
    return format_usd(after["usd_per_month"] if "usd_per_month" in after else after["cost"]["usd_per_month"])


def assert_as_printed(case: PageCase, states: Sequence[Observed], directory: Path) -> None:
    """Assert that the figures of each state are those of `plan --output json` for the file that the page offers."""
    for state in states:
        file = directory / "state.yaml"
        file.write_text(state["yaml"], encoding="utf-8")
        options = ("--cluster", case.cluster, "--output", "json", "--no-advice")
        document = json.loads(run("plan", str(file), *options).stdout)
        assert state["isRefused"] == ("cost" not in document), state
        if not state["isRefused"]:
            assert state["figures"] == case.printed(document), state["yaml"]


def test_figures_are_those_of_the_command(case: PageCase, page: Observed, tmp_path: Path) -> None:
    assert_as_printed(case, [*page["typed"], page["dragged"]["after"]], tmp_path)


@pytest.mark.thorough
def test_figures_of_many_states_are_those_of_the_command(
    case: PageCase, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The option --inputs sets the number of states."""
    count = request.config.getoption("--inputs") or THOROUGH_STATES
    with case.served() as url:
        states = observed({"observe": "time", "url": url, "states": case.states(count)})["typed"]
    assert len(states) == count
    assert_as_printed(case, states, tmp_path)


@pytest.mark.bench
@pytest.mark.parametrize(
    ("timed", "kinds"), [(HBASE, ("typed", "slid")), (PROD, ("slid",)), (TRINO, ("typed", "slid"))]
)
def test_the_headline_follows_a_change_at_once(timed: PageCase, kinds: Sequence[str]) -> None:
    """For a tenth of the random states, no cluster of prod meets the targets, and the nearest one takes longer."""
    with timed.served() as url:
        found = observed({"observe": "time", "url": url, "states": timed.states(BENCH_STATES)})
    times = {"typed": [state["milliseconds"] for state in found["typed"]], "slid": found["slid"]}
    lines = {
        kind: f"median {statistics.median(times[kind]):.0f} ms, p95 {tail_of(times[kind]):.0f} ms" for kind in times
    }
    sys.stdout.write(f"{timed.environment}: {lines}\n")
    for kind in kinds:
        assert statistics.median(times[kind]) <= 100, lines
        assert tail_of(times[kind]) <= 250, lines


def tail_of(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def test_the_layout_does_not_shift_while_a_slider_moves(case: PageCase, page: Observed) -> None:
    assert page["dragged"]["shifts"] == 0
    assert page["dragged"]["prices"] >= FEWEST_PRICES, "the headline does not follow a slider that moves"
    assert page["dragged"]["hash"].startswith(f"#{quote_plus(case.key)}=")
    assert page["dragged"]["after"]["figures"] != page["dragged"]["before"]["figures"]


def test_the_inputs_of_a_table_are_visible_if_it_is_first_or_has_changed(case: PageCase, page: Observed) -> None:
    names = ["shop:daily-orders.v2/d", "events"] if case is TABLES else []
    assert page["tables"] == [
        [[name, name == "shop:daily-orders.v2/d"] for name in names],
        [[name, True] for name in names],
    ]


def test_without_a_codec_the_ratio_is_left_out_until_there_is_one(
    case: PageCase, page: Observed, tmp_path: Path
) -> None:
    if not case.compression:
        assert "compressed" not in page
        return
    without, restored, *others = page["compressed"]
    assert without["disabled"] == [True, True]
    assert (without["value"], without["message"]) == ("1.0", "Compression is none.")
    assert "ratio" not in without["hash"]
    assert restored["disabled"] == [False, False]
    assert (restored["value"], restored["message"]) == ("2.5", "")
    assert "ratio=2.5" in restored["hash"]
    assert [step["hash"] for step in others] == [step["hash"] for step in (without, restored, without)]
    assert [step["value"] for step in others] == ["1.0", "2.5", "1.0"]
    assert_as_printed(case, [without, restored], tmp_path)


def test_the_page_says_that_no_cluster_meets_the_targets_before_it_has_the_nearest(
    case: PageCase, page: Observed
) -> None:
    *earlier, (last, _) = page["verdicts"]
    assert earlier == ([] if case is TRINO else [[PENDING, True]])
    assert last.startswith("No cluster meets the targets; this is the nearest one.")


def test_the_first_day_marks_its_events_and_says_what_they_mean(case: PageCase, page: Observed) -> None:
    labels, texts = page["day"]
    if case is TRINO:
        assert (labels, texts) == ([], []), "the model of Trino has no first day"
        return
    environment = read_environment(case.environment)
    day = day_plot(plan_of(environment, environment.active))
    assert day is not None
    assert labels == ["start", "full", "restart", "node lost", "refilled"]
    assert texts == list(day.events)


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
def test_an_address_restores_its_state(case: PageCase, whole: Observed, tmp_path: Path) -> None:
    assert f"{case.key.rpartition('.')[2]}: {case.linked}" in whole["linked"]["yaml"]
    assert_as_printed(case, [whole["linked"]], tmp_path)


@pytest.mark.thorough
def test_the_page_works_with_the_keyboard_alone(case: PageCase, whole: Observed) -> None:
    keyed = whole["keyed"]
    assert (keyed["keep"], keyed["slider"], keyed["plot"]) == (True, True, True)
    assert keyed["value"] not in {"", case.file}
    assert "hit ratio" in keyed["readout"]
    before, now = keyed["compared"]
    assert before == whole["first"]["figures"]["price"]
    assert "(+$" in now


@pytest.mark.thorough
def test_a_refused_value_has_its_message_below_the_field(case: PageCase, whole: Observed) -> None:
    assert whole["refused"]["isRefused"]
    assert whole["message"] == case.refused[1]


@pytest.mark.thorough
def test_a_range_has_the_figures_of_its_middle_and_a_cluster_of_its_own(case: PageCase, whole: Observed) -> None:
    price, middle, ranges, place = whole["ranged"]
    _, center, slider = case.range
    assert price == usd_at(case, case.key, center)
    assert middle == f"These figures are for the middle of each range: {case.key} {center}."
    assert ranges == f"{case.key} {case.range[0].replace('..', ' GiB to ')}"
    assert place == slider, "the slider is at the middle"
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
def test_the_report_has_the_document_of_the_command_and_its_sliders_stop_at_plans(
    case: PageCase, whole: Observed
) -> None:
    assert whole["report"] == json.loads(command(case, "plan", "--output", "json").stdout)
    figures = case.printed(whole["report"])
    assert whole["unplanned"] == [case.file, figures], "an address shows a value without its plan"
    assert whole["width"]["report"] <= PHONE_PIXELS
    assert all(file.stat().st_size <= MOST_BYTES for file in whole["files"])
    assert whole["stopped"]["price"] == usd_at(case, case.key, case.stop)
    before, after = whole["compared"]
    key, choice = case.option
    assert before == figures["price"]
    assert after.startswith(usd_at(case, key, choice or case.stop))


@pytest.mark.thorough
def test_the_report_of_a_comparison_shows_the_columns_side_by_side(case: PageCase, whole: Observed) -> None:
    head, *rows = whole["side"]
    assert head == case.columns
    assert any(row.startswith("a month$") for row in rows)
    assert whole["width"]["comparison"] <= PHONE_PIXELS


@pytest.mark.thorough
def test_a_mode_without_a_cache_has_no_plots_of_one(case: PageCase, whole: Observed) -> None:
    assert whole["plots"] == list(case.left_out)


@pytest.fixture(scope="module")
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """The texts and places on the pictures of the documentation. --update-golden draws the pictures anew."""
    is_anew = request.config.getoption("--update-golden")
    pictures = PICTURES if is_anew else tmp_path_factory.mktemp("pictures")
    with PROD.served() as url:
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
def test_the_page_says_when_the_caches_of_its_picture_are_full(drawn: Observed) -> None:
    [full] = [event for event in drawn["day"] if ", the caches are full." in event]
    hours = full.partition(",")[0].removeprefix("After ")
    assert f"its caches are full after {hours}." in (DOCS / "explore.md").read_text(encoding="utf-8")
