"""The summary of a plan: short, as wide as the terminal, and every word of it can be explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from msgspec.structs import replace

from tests.shipped import ENVIRONMENTS
from tests.sizing.test_search_laws import environment as random_environment
from warmbase.cli.commands import warmbase
from warmbase.cli.page import Page
from warmbase.cli.size.explanation import listed, word_document
from warmbase.cli.size.plan_summary import MOST_LINES, export_text, outcome, plan_summary
from warmbase.environments.environment import Environment
from warmbase.environments.planning import advised_plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.read import locate
from warmbase.environments.unstated import unstated
from warmbase.sizing.modes import MODES
from warmbase.sizing.plan import ScanExport
from warmbase.sizing.recovery.export import REGIONS

CASES: dict[str, dict[str, Any]] = {
    **{f"mode {mode}": {"storage": {"mode": mode}} for mode in MODES},
    "p99 that nothing meets": {"targets": {"p99": "1 ms"}},
    "budget that nothing meets": {"targets": {"budget_usd_per_month": 100}},
    "three lost nodes": {"targets": {"lost_nodes": 3}},
}

LONG_KEY = "a.setting.with.a.name.as.long.as.HBase.likes.them"


def changed(name: str, case: str, directory: Path) -> Environment:
    document = yaml.safe_load(locate(name).read_text())
    for section, values in CASES[case].items():
        document[section] = {**document.get(section, {}), **values}
    if CASES[case].get("storage") == {"mode": "hdfs"}:
        document["storage"].pop("root", None)
    file = directory / "changed.yaml"
    file.write_text(yaml.safe_dump(document))
    return read_environment(str(file))


def page(environment: Environment, width: int) -> list[str]:
    plan = advised_plan_of(environment, environment.active)
    page = Page(columns=width, indent=0, label=13)
    return list(map(click.unstyle, page.lines(plan_summary(environment.name, environment, plan, page))))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_a_summary_has_at_most_thirty_lines(name: str, case: str, tmp_path: Path) -> None:
    environment = changed(name, case, tmp_path)
    for width in (80, 120):
        lines = page(environment, width)
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_summary_of_a_shipped_environment_fits_a_screen(name: str) -> None:
    environment = read_environment(name)
    assert len(page(environment, 80)) <= MOST_LINES
    assert max(map(len, page(environment, 120))) > 80


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(15))
def test_the_summary_of_any_workload_fits_a_screen(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "law.yaml"
    file.write_text(yaml.safe_dump(random_environment(seed)))
    lines = page(read_environment(str(file)), 80)
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dev", f"hbase-site {LONG_KEY}.1, hbase-site {LONG_KEY}.2 and 1 more (--why)"),
        ("prod", "Overrides 4 settings of your own (--why) Nearest"),
    ],
)
def test_a_summary_without_room_counts_what_it_would_list(name: str, text: str, tmp_path: Path) -> None:
    document = yaml.safe_load(locate(name).read_text())
    document["targets"] = {"p99": "1 ms"}
    document["workload"].pop("popularity", None)
    document["workload"]["reads"]["peak_per_second"] = 1000
    document["overrides"] = {"hbase-site": {f"{LONG_KEY}.{number}": "1" for number in range(4)}}
    file = tmp_path / "changed.yaml"
    file.write_text(yaml.safe_dump(document))
    lines = page(read_environment(str(file)), 80)
    assert text in " ".join(" ".join(lines).split())
    assert len(lines) <= MOST_LINES


def test_every_label_of_what_the_cluster_does_can_be_explained() -> None:
    environment = read_environment("prod")
    for label, _ in outcome(advised_plan_of(environment, environment.active)):
        result = CliRunner().invoke(warmbase, ["explain", "prod", *label.split()])
        assert (result.exit_code, bool(result.stdout.strip())) == (0, True), (label, result.output)


@pytest.mark.parametrize("option", [(), ("--why",), ("--cost",), ("--all",)], ids=" ".join)
def test_every_label_of_a_page_can_be_explained(option: tuple[str, ...]) -> None:
    printed = CliRunner().invoke(warmbase, ["plan", "prod", *option]).stdout
    labels = {label for line in printed.splitlines() if (label := re.match(r"([A-Z][a-z]+(?: [a-z]+)*)  ", line))}
    words = {label[1] for label in labels} - {"Next", "COMPRESSION"}
    assert words or option
    for word in words:
        result = CliRunner().invoke(warmbase, ["explain", "prod", *word.split()])
        assert result.exit_code == 0, (word, result.output)
        assert result.stdout.strip()


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("assumed", "no compression (workload.compression.codec)"),
        ("watch", "fix: add clients gradually"),
        ("saves money", "COMPRESSION"),
        ("ebs-iops", "1.018 times the mean load: 1,726 reads/s at most, 52.1 % used"),
        ("s3-requests", "a read takes none of it"),
        ("overrides", "0 overrides in the environment file"),
        ("P99", "throughput.p99_latency_ms"),
        ("a node lost", "bad_hours.lost_node.offline_seconds"),
    ],
)
def test_a_word_explains_what_the_page_means_by_it(word: str, text: str) -> None:
    result = CliRunner().invoke(warmbase, ["explain", "prod", *word.split()])
    assert text in " ".join(result.stdout.split()), result.output


def test_the_pages_tell_a_table_that_is_not_cached_from_the_others(tmp_path: Path) -> None:
    text = Path("docs/several-tables.yaml").read_text(encoding="utf-8")
    file = tmp_path / "tables.yaml"
    file.write_text(text.replace("regions: 120", "regions: 120\n      cache: false\n      growth: 2 % a month"))
    command = CliRunner()
    summary = " ".join(command.invoke(warmbase, ["plan", str(file)]).stdout.split())
    assert "of the block reads of cached tables come from local disks" in summary
    assert "hit ratio, p99 and cost: events not cached, " in summary
    assert f"warmbase plan {file} --months 24" in summary
    tables = " ".join(command.invoke(warmbase, ["explain", str(file), "tables"]).stdout.split())
    assert "events: its data blocks are not cached; 5 reads/s" in tables
    assert "users: 100 % of its block reads come from local disks" in tables
    compared = " ".join(command.invoke(warmbase, ["compare", str(file)]).stdout.split())
    assert "100 % of reads of" in compared
    changed = " ".join(command.invoke(warmbase, ["plan", "docs/several-tables.yaml", str(file)]).stdout.split())
    assert "hit ratio, warm 98.2 % 100 % of reads of cached" in changed


def test_both_pages_say_how_long_the_peak_lasts_and_how_quiet_the_other_hours_are() -> None:
    daily, hour = "{per_second: 900, seasons: {peak: 2.5x, hours: 3}}", "{per_second: 900, peak_per_second: 2250}"
    known, unknown = (read_environment("dev", [Assignment.parse(f"workload.reads={reads}")]) for reads in (daily, hour))
    assert "Daily peak   2,250 reads/s for 3 h, p99 9 ms (estimate); 707 reads/s in the other hours" in page(known, 120)
    assert "Peak hour    2,250 reads/s, p99 9 ms (estimate)" in page(unknown, 120)
    [(_, text)] = (row for row in outcome(advised_plan_of(known, known.active)) if row[0] == "daily peak")
    assert text.startswith("2,250/s of 2,250 offered for 3 h a day (707/s in the other hours), ")


def test_the_peak_is_explained_by_its_own_figures() -> None:
    assignment = Assignment.parse("workload.reads={per_second: 900, seasons: {peak: 2.5x, hours: 3}}")
    daily, steady = (read_environment("dev", assignments) for assignments in ([assignment], []))
    of_daily, of_steady = (advised_plan_of(environment, environment.active) for environment in (daily, steady))
    for word in ("daily peak", "peak hour"):
        figures, reason = listed(word, of_daily, (), ())
        assert figures.startswith("2,250/s of 2,250 offered for 3 h a day (707/s in the other hours), ")
        assert reason.endswith("the mean load of 900 reads/s.")
        assert word_document(word, of_daily, (), ()) == {"peak": of_daily.peak}
    assert list(listed("peak hour", of_steady, (), ())) == [
        "The environment file states no peak, so the busiest hour has the mean load."
    ]


EXPORT = ScanExport(
    table="hot",
    blocks=1_000,
    cached_fraction=0.25,
    beside_reads_per_second=5,
    blocks_per_second=10,
    limit=REGIONS,
    seconds=100,
    gets=190,
    gets_usd=1,
)


def test_an_export_row_names_its_table_limit_and_gets() -> None:
    assert export_text(EXPORT) == (
        "hot: a scan takes 1.67 min (estimate) while the cluster serves 5 reads/s, limited by regions;"
        " about 190 GETs for $1.00"
    )
    assert export_text(replace(EXPORT, gets=0.0)).endswith("; no GETs")
    assert export_text(replace(EXPORT, table="", seconds=None)) == (
        "at 5 reads/s, the load leaves no capacity for an export by a scan"
    )


def test_the_word_export_explains_each_limit_or_why_there_is_no_estimate() -> None:
    environment = read_environment("dev")
    sized = advised_plan_of(environment, environment.active)
    of_regions, of_network = (
        " ".join(listed("export", replace(sized, scan_exports=(replace(EXPORT, limit=limit),)), (), ()))
        for limit in (REGIONS, "network")
    )
    assert "so blocks of the exported table stay in the cache longer" in of_regions
    assert "1,000 blocks, 25 % of them on the nodes' disks; at most 10 blocks/s, limited by one scanner" in of_regions
    assert "limited by network, which the scan shares with the load" in of_network
    assert "closed load" not in of_regions
    [closed] = listed("export", replace(sized, scan_exports=()), (), ())
    assert closed.startswith("A closed load uses all the capacity")
    assert word_document("export", replace(sized, scan_exports=(EXPORT,)), (), ()) == {"scan_exports": (EXPORT,)}
    labels = [row[0] for row in outcome(replace(sized, scan_exports=(EXPORT, EXPORT))) if "a scan takes" in row[1]]
    assert labels == ["export", ""]


def test_a_list_without_entries_says_so() -> None:
    [line] = CliRunner().invoke(warmbase, ["explain", "dev", "saves"]).stdout.splitlines()
    assert "was found to save money" in line


def test_what_a_comment_marks_as_assumed_is_not_stated(tmp_path: Path) -> None:
    text = locate("prod").read_text()
    marked = text.replace("popularity: {zipf: 0.99} #", "popularity: {zipf: 0.99} # assumed: a middle #").replace(
        "  regions: 240", "  # assumed: one region for each 10 GiB\n  # on your cluster: count them\n  regions: 240"
    )
    assert marked.count("assumed:") == 2
    file = tmp_path / "prod.yaml"
    file.write_text(marked)
    before, after = (
        {value.key for value in unstated(environment, environment.active)}
        for environment in (read_environment("prod"), read_environment(str(file)))
    )
    assert after - before == {"workload.popularity", "workload.regions"}


def test_a_value_from_the_command_line_is_stated() -> None:

    assignment = Assignment.parse("discount=28 %")
    environment = read_environment("prod", [assignment])
    assert "discount" not in {value.key for value in unstated(environment, environment.active)}
