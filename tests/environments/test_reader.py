"""An environment file: what is read, and what is said about each thing that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from environments.reader import locate, read_environment
from environments.reader.json_schema import schema_text
from sizing.problem import InvalidInput
from sizing.units import KIB, MIB, TIB
from sizing.workload import ClosedLoad, OpenLoad
from tests.shipped import ENVIRONMENTS

HOME = Path(__file__).parents[2] / "environments"

GOOD = """\
name: try
region: us-east-1
release: emr-7.12.0
network: {availability_zone: us-east-1a}
workload:
  stored: 1 TiB
  cell: 1 KiB
  row: 10 KiB
  reads: {per_second: 100}
  regions: 40
clusters:
  blue: {role: active}
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> str:
        file = tmp_path / "try.yaml"
        file.write_text(text)
        return str(file)

    return written


def problems(path: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read_environment(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_good_file_becomes_the_domains_types(write: Write) -> None:
    environment = read_environment(write(GOOD))
    assert environment.workload.stored_bytes == TIB
    assert environment.workload.block_bytes == 64 * KIB
    assert environment.workload.load == OpenLoad(reads_per_second=100)
    assert environment.active.core.pinned is False
    assert environment.root == "s3://warmbase-try-root-${AWS::AccountId}-us-east-1/hbase/"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments_that_ship_are_good(name: str) -> None:
    assert read_environment(name).name == name


def test_the_published_cluster_is_pinned_as_published() -> None:
    environment = read_environment("published-emr")
    core = environment.active.core
    assert core.pinned
    assert environment.workload.load == ClosedLoad(concurrency=1000)
    assert core.volumes is not None
    cache = core.volumes[0]
    assert (core.type, core.count, cache.iops, cache.throughput_mib_s) == ("r8g.2xlarge", 6, 3000, 125)


# What replaces a line of the good file, and what must be said: line, key, why, fix.
FAULTS = [
    ("name: try", "name: Try", ":1  name", "does not look like it should", "match"),
    ("region: us-east-1", "region: mars-1", ":2  region", "no prices for 'mars-1'", "us-east-1"),
    ("region: us-east-1", "region: us-east-1\naccount: 111122223333", ":3  account", "not text", '"111122223333"'),
    ("release: emr-7.12.0", "release: emr-7.5.0", ":3  release", "keep its cache over a restart", "emr-7.6.0"),
    ("  stored: 1 TiB", "  stored: 1 TB", ":6  workload.stored", "'TB' is not one of", "64 KiB"),
    ("  stored: 1 TiB", "  stored: 12", ":6  workload.stored", "no unit", "binary unit"),
    ("  stored: 1 TiB", "  stored: 0 B", ":6  workload.stored", "0 bytes", "mean size"),
    ("  cell: 1 KiB\n", "", ":5  workload.cell", "required", "add it"),
    ("  cell: 1 KiB", "  cell: 1 KiB\n  regons: 4", ":8  workload.regons", "unknown key", "did you mean 'regions'?"),
    ("  row: 10 KiB", "  row: 1 B", ":5  workload", "cannot hold a cell", "all its cells"),
    ("per_second: 100", "per_second: 100, concurrency: 9", ":9  workload.reads", "both are given", "keep per_second"),
    ("per_second: 100", "kind: get", ":9  workload.reads", "neither is given", "keep per_second"),
    ("per_second: 100", "per_second: 100, kind: scan", ".reads.kind", "'scan' is not supported yet", "use get"),
    ("  regions: 40", "  regions: many", ":10  workload.regions", "valid integer", "regions: 240"),
    ("  regions: 40", "  regions: 40\n  popularity: {zipf: 0.99}", "popularity", "not supported yet", "uniform"),
    ("us-east-1a}", "eu-west-1a}", ":4  network.availability_zone", "not in region us-east-1", "us-east-1a"),
    ("us-east-1a}", "us-east-1a, vpc: vpc-12}", ".vpc", "not supported yet", "use new"),
    ("  blue: {role: active}", "  blue: {role: replica}", "clusters.blue.role", "not supported yet", "active"),
    ("{role: active}", "{primaries: 2}", "clusters.blue.primaries", "2 is not one of", "1 or 3"),
    ("{role: active}", "{core: {type: r8g.huge}}", "core.type", "no instance type", "auto"),
    ("{role: active}", "{core: {type: r8i.2xlarge}}", "core.type", "does not list r8i.2xlarge", "auto"),
    ("{role: active}", "{core: {count: 1}}", "core.count", "write-ahead log twice", "2 or more"),
    ("{role: active}", "{core: {families: [z9]}}", "core.families", "no family 'z9'", "r8g"),
    ("  blue: {role: active}", "  blue: {}\n  green: {}", "clusters", "2 are active", "keep one"),
    ("  blue: {role: active}", "  blue: {}\n  blue: {}", ":13  clusters.blue", "stands in line 12", "remove"),
    ("name: try", "name: [try", "is not YAML", "expected", "mend the line"),
    ("name: try", "name: try\nstorage: {mode: hdfs}", ":2  storage.mode", "not supported yet", "s3-cached"),
    ("name: try", "name: try\ntargets: {hit_ratio: 95}", ":2  targets.hit_ratio", "between 0 and 1", "95 %"),
    ("name: try", "name: try\noverrides: {hbase-site: {a: b}}", ":2  overrides", "not supported yet", "{}"),
]


@pytest.mark.parametrize(("line", "instead", "said"), [(line, instead, said) for line, instead, *said in FAULTS])
def test_each_fault_says_where_why_and_how_to_mend_it(write: Write, line: str, instead: str, said: list[str]) -> None:
    assert line in GOOD
    [found] = problems(write(GOOD.replace(line, instead)))
    first, reason, mend = found.splitlines()
    where, why, fix = said
    assert where in f"{first} {reason}"
    assert why in reason
    assert mend.startswith("  fix: ")
    assert fix in mend


def test_all_problems_of_a_file_are_reported_at_once_in_its_order(write: Write) -> None:
    faulty = GOOD.replace("name: try", "name: Try").replace("1 TiB", "1 TB").replace("regions: 40", "regions: no")
    found = problems(write(faulty.replace("us-east-1a", "eu-west-1a")))
    assert [int(problem.split(":")[1].split()[0]) for problem in found] == [1, 4, 6, 10]


@pytest.mark.parametrize(
    ("volumes", "why"),
    [
        ("[{purpose: cache, size: 100 GiB}]", "one cache volume and one system volume"),
        ("[{purpose: cache, size: 64 GiB}, {purpose: system, size: 64 GiB}]", "apart by size"),
        (
            "[{purpose: cache, size: 1 TiB, throughput: 900 MiB/s}, {purpose: system, size: 64 GiB}]",
            "at most 0.25 MiB/s per IOPS",
        ),
        ("[{purpose: cache, size: 1500 MiB}, {purpose: system, size: 64 GiB}]", "whole GiB"),
    ],
)
def test_volumes_that_ebs_or_the_node_cannot_do_are_refused(write: Write, volumes: str, why: str) -> None:
    [found] = problems(write(GOOD.replace("{role: active}", f"{{core: {{volumes: {volumes}}}}}")))
    assert why in found


def test_a_file_that_is_not_there_is_named() -> None:
    [found] = problems("nowhere/prod.yaml")
    assert found.startswith("nowhere/prod.yaml  cannot be read")


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'prod'"):
        locate("prd")


def test_an_empty_file_lists_what_is_required(write: Write) -> None:
    assert "file" in problems(write(""))[0]


def test_the_schema_for_editors_is_current(request: pytest.FixtureRequest) -> None:
    file = HOME / "schema.json"
    if request.config.getoption("--update-golden"):
        file.write_text(schema_text())
    assert file.read_text() == schema_text()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_schema_for_editors_knows_every_key_that_ships(name: str) -> None:
    import jsonschema  # noqa: PLC0415 - untyped, and only here

    values = yaml.safe_load((HOME / f"{name}.yaml").read_text())
    jsonschema.validate(values, json.loads((HOME / "schema.json").read_text()))


def test_throughput_defaults_to_gp3s_own(write: Write) -> None:
    volumes = "[{purpose: cache, size: 1 TiB}, {purpose: system, size: 64 GiB}]"
    environment = read_environment(write(GOOD.replace("{role: active}", f"{{core: {{volumes: {volumes}}}}}")))
    assert environment.active.core.volumes is not None
    assert environment.active.core.volumes[0].bytes_per_second == 125 * MIB
