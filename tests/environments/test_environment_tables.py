"""Tables in an environment file: what is read, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warmbase.configurations.launch import launch_of
from warmbase.configurations.table_ddl import UNCACHED_FLAGS, planned_tables, table_ddl
from warmbase.environments.planning import advised_plan_of, plans_by_mode
from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.read import read_ranges
from warmbase.environments.uncertainty.sensitivity import sensitivities
from warmbase.environments.unstated import unstated
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import GIB, KIB

BASE = """\
name: tables
region: us-east-1
release: emr-7.12.0
network: {availability_zone: us-east-1a}
workload:
  tables:
    users: {stored: 200 GiB, cell: 400 B, row: 4 KiB, reads: {per_second: 900}, popularity: {zipf: 0.99}, regions: 40}
    "events/d": {stored: 1 TiB, cell: 300 B, row: 1 KiB, reads: {per_second: 5, kind: scan, rows: 300}, regions: 80}
    "events/x": {stored: 90 GiB, cell: 300 B, row: 1 KiB, block_size: 8 KiB, reads: {per_second: 100}, regions: 80}
targets: {hit_ratio: 0.9}
clusters: {blue: {role: active}}
"""
INSPECTION = Path(__file__).parent / "inspection.json"


def written(folder: Path, text: str = BASE) -> str:
    file = folder / "tables.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_each_table_is_a_workload(tmp_path: Path) -> None:
    workload = read_environment(written(tmp_path)).workload
    assert [table.name for table in workload.tables] == ["users", "events/d", "events/x"]
    assert [table.block_bytes for table in workload.tables] == [64 * KIB, 64 * KIB, 8 * KIB]
    assert workload.regions == 120


@pytest.mark.parametrize(
    ("change", "line", "why"),
    [
        (("reads: {per_second: 900}", "reads: {concurrency: 9}"), 7, "a closed load"),
        (('"events/x"', "events"), 9, "'events' and 'events/d' overlap"),
        (('regions: 80}\n    "events/x"', 'regions: 90}\n    "events/x"'), 9, "has 80 regions and 'events/d' has 90"),
        (("users", '"a b"'), 7, "not the name of a table"),
        (("cell: 400 B", "cache: 1, cell: 400 B"), 7, "1 is not true or false"),
        (("cell: 400 B", "cel: 400 B"), 7, "did you mean 'cell'"),
        (("  tables:", "  stored: 1 TiB\n  tables:"), 6, "unknown key"),
        (
            ("{role: active}", "{role: active, workload: {reads: {per_second: 5}}}"),
            11,
            "states its reads for each table",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(change: tuple[str, str], line: int, why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        read_environment(written(tmp_path, BASE.replace(*change)))
    assert f"tables.yaml:{line} " in str(caught.value).replace("\n", " ")


def test_values_that_nobody_stated_name_their_tables(tmp_path: Path) -> None:
    environment = read_environment(written(tmp_path))
    values = {value.key: value.value for value in unstated(environment, environment.active)}
    assert values["workload.tables.NAME.reads.peak_per_second"] == "no hour busier than the mean"
    assert values["workload.tables.NAME.block_size"] == "blocks of 64 KiB in users, events/d"
    assert values["workload.tables.NAME.compression.codec"] == "no compression"
    assert values["workload.tables.NAME.popularity"] == "all rows equally popular in events/d, events/x"


def test_a_table_takes_its_part_of_an_inspection(tmp_path: Path) -> None:
    families = json.loads(INSPECTION.read_text())["families"]
    name = f"{families[0]['table']}/{families[0]['family']}"
    text = BASE.replace("users: {stored: 200 GiB", f'"{name}": {{inspection: {INSPECTION}').replace(
        "regions: 40", "regions: 7"
    )
    [table, *_] = read_environment(written(tmp_path, text)).workload.tables
    assert table.inspection is not None
    assert [family.name for family in table.inspection.families] == [families[0]["family"]]
    with pytest.raises(InvalidInput, match=r"has no table or family users; it has"):
        read_environment(written(tmp_path, text.replace(name, "users")))


def test_the_plan_has_each_table_with_its_cost(tmp_path: Path) -> None:
    environment = read_environment(written(tmp_path))
    sized = advised_plan_of(environment, environment.active)
    assert [table.name for table in sized.tables] == ["users", "events/d", "events/x"]
    assert all(0 <= (table.usd_per_month or 0) < sized.cost.usd_per_month for table in sized.tables)
    assert "workload.tables.NAME.regions" in {
        quantity.source.removeprefix("environment file: ")
        for reason in sized.because.values()
        for quantity in reason.inputs.values()
    }
    assert {path: reason.value for path, reason in sized.because.items() if path.startswith("regions.")} == {
        "regions.mean_bytes": sized.regions.mean_bytes,
        "regions.split_bytes": sized.regions.split_bytes,
    }


def test_each_table_has_its_own_attributes(tmp_path: Path) -> None:
    environment = read_environment(written(tmp_path))
    launch = launch_of(environment, environment.active)
    users, events = planned_tables(launch)
    assert (users.name, events.name) == ("users", "events")
    assert [family.name for family in events.families] == ["d", "x"]
    assert [family.attributes["BLOOMFILTER"] for family in events.families] == ["NONE", "ROW"]
    assert [family.attributes["BLOCKSIZE"] for family in events.families] == ["65536", "8192"]
    assert users.wanted(["a", "b"]) == dict.fromkeys("ab", users.families[0].wanted)
    assert set(events.wanted(["d", "z"])) == {"d"}
    text = table_ddl(launch)
    assert text.count("alter '") == 2
    assert "# Where the environment file names a table without its families, replace `cf` with yours." in text


@pytest.mark.parametrize(("release", "overrides"), [("emr-7.12.0", True), ("emr-7.14.0", False)])
def test_a_family_can_be_left_out_of_the_cache(release: str, tmp_path: Path, *, overrides: bool) -> None:
    text = BASE.replace("emr-7.12.0", release).replace("block_size: 8 KiB", "cache: false")
    environment = read_environment(written(tmp_path, text))
    launch = launch_of(environment, environment.active)
    [cached, uncached] = [family.wanted for family in planned_tables(launch)[1].families]
    attributes = ("BLOCKCACHE", "PREFETCH_BLOCKS_ON_OPEN", "CACHE_DATA_ON_WRITE")
    assert {cached[name] for name in attributes} == {"true"}
    assert {uncached[name] for name in attributes} == {"false"}
    assert {cached[name] for name in UNCACHED_FLAGS} == {""}
    assert {uncached[name] for name in UNCACHED_FLAGS} == {"false" if overrides else ""}
    script = table_ddl(launch)
    assert script.count("  BLOCKCACHE => 'false'") == 1
    assert script.count("CONFIGURATION => {") == overrides
    [name] = [table.name for table in launch.plan.tables if not table.cached]
    assert name == "events/x"


@pytest.mark.parametrize("mode", ["s3-cached", "s3-plain"])
def test_a_cache_that_no_table_uses_is_refused(mode: str, tmp_path: Path) -> None:
    text = BASE.replace("regions:", "cache: false, regions:").replace(
        "network:", f"storage: {{mode: {mode}}}\nnetwork:"
    )
    if mode == "s3-plain":
        assert not read_environment(written(tmp_path, text)).workload.cached
        return
    with pytest.raises(InvalidInput, match=r"tables.yaml:7  workload.tables\n  no table is cached"):
        read_environment(written(tmp_path, text))


def test_a_workload_that_is_not_cached_needs_no_cache(tmp_path: Path) -> None:
    text = (
        Path("environments/dev.yaml").read_text(encoding="utf-8").replace("workload:\n", "workload:\n  cache: false\n")
    )
    with pytest.raises(InvalidInput, match=r"workload.cache\n  no table is cached .*\n.*remove cache: false"):
        read_environment(written(tmp_path, text))
    plain = f"{text}\nstorage: {{mode: s3-plain}}\n" if "storage:" not in text else text
    environment = read_environment(written(tmp_path, plain))
    assert [str(mode) for mode in plans_by_mode(environment, environment.active)] == ["s3-plain", "hdfs"]


def test_the_inputs_of_each_table_are_varied(tmp_path: Path) -> None:
    ranged = read_ranges(written(tmp_path))
    keys = {one.one.key for one in sensitivities(ranged, "blue")}
    assert {"workload.tables.users.popularity.zipf", "workload.tables.events/d.stored"} <= keys
    # The families of a table have the same regions, so a plan with others for one of them would be refused.
    assert {key for key in keys if key.endswith(".regions")} == {"workload.tables.users.regions"}


def test_an_option_names_a_table_with_dots(tmp_path: Path) -> None:
    file = written(tmp_path, BASE.replace("users:", "old.users:"))
    changed = read_environment(file, [Assignment.parse("workload.tables.old.users.stored=300GiB")])
    assert changed.workload.tables[0].stored_bytes == 300 * GIB
    assert [table.name for table in changed.workload.tables] == ["old.users", "events/d", "events/x"]


def test_the_name_of_a_table_may_have_dots(tmp_path: Path) -> None:
    ranged = read_ranges(written(tmp_path, BASE.replace("users:", "old.users:")))
    [stored] = [one for one in sensitivities(ranged, "blue") if one.one.key == "workload.tables.old.users.stored"]
    assert None not in stored.usd_per_month
