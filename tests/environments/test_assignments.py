"""`--set PATH=VALUE`: the value goes through the very reader, and its messages name the option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel

from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import FREE_KEYS, Assignment
from warmbase.environments.reader.messages import _variants
from warmbase.environments.reader.schema import EnvironmentFile
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import TIB
from warmbase.sizing.workload.popularity import Zipf
from warmbase.sizing.workload.workload import OpenLoad

PINNED = """\
name: pinned
region: us-east-1
release: emr-7.14.0
network: {availability_zone: us-east-1a}
workload: &load
  stored: 1 TiB
  cell: 1 KiB
  row: 10 KiB
  reads: &reads {per_second: 100}
  regions: 40
clusters:
  blue:
    core:
      type: r8g.xlarge
      count: 3
      volumes: [{purpose: cache, type: gp3, size: 400 GiB}, {purpose: system, type: gp3, size: 64 GiB}]
  green: {role: replica, workload: {reads: *reads}}
"""


def assignments(*texts: str) -> list[Assignment]:
    return [Assignment.parse(text) for text in texts]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pinned.yaml"
    path.write_text(PINNED)
    return path


def test_a_value_replaces_that_of_the_file(file: Path) -> None:
    changed = read_environment(
        str(file), assignments("workload.stored=14TiB", "workload.popularity={zipf: 0.8}", "targets.p99=20ms")
    )
    assert changed.workload.stored_bytes == 14 * TIB
    assert changed.workload.popularity == Zipf(theta=0.8)
    assert changed.targets.p99_seconds == 0.02
    assert file.read_text() == PINNED


def test_an_entry_of_a_list_is_named_by_number(file: Path) -> None:
    changed = read_environment(str(file), assignments("clusters.blue.core.volumes[1].size=80 GiB"))
    volumes = changed.clusters["blue"].core.volumes
    assert volumes is not None
    assert [volume.size_gib for volume in volumes] == [400, 80]


def test_an_alias_elsewhere_keeps_the_value_of_the_file(file: Path) -> None:
    changed = read_environment(str(file), assignments("workload.reads.per_second=900"))
    green = changed.clusters["green"].reads
    assert green is not None
    assert changed.workload.reads.load == OpenLoad(reads_per_second=900)
    assert green.load == OpenLoad(reads_per_second=100)


def test_the_later_of_two_values_holds(file: Path) -> None:
    changed = read_environment(str(file), assignments("workload.stored=2TiB", "workload.stored=3TiB"))
    assert changed.workload.stored_bytes == 3 * TIB


def test_a_key_may_contain_dots_where_keys_are_free(file: Path) -> None:
    changed = read_environment(
        str(file),
        assignments("overrides.hbase-site.hbase.regionserver.handler.count=60", "tags.cost.center=42"),
    )
    [override] = changed.overrides
    assert (override.key, override.value, override.line) == ("hbase.regionserver.handler.count", "60", None)
    assert changed.tags == {"cost.center": "42"}


def test_free_keys_are_those_of_the_schema() -> None:
    assert dict(free_keys(EnvironmentFile)) == FREE_KEYS


def free_keys(schema: type[BaseModel]) -> list[tuple[str, int]]:
    """Return the sections at the top whose innermost values are text under keys of the user's choice."""
    depths = ((name, depth(field.annotation)) for name, field in schema.model_fields.items())
    return [(name, levels) for name, levels in depths if levels]


def depth(annotation: object) -> int:
    """Return the number of parts of a path before a free key; 0 where there is none."""
    [variant, *_] = _variants(annotation)
    if get_origin(variant) is not dict:
        return 0
    [inner, *_] = _variants(get_args(variant)[1])
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return 0
    return 1 + depth(inner)


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("workload.stord=1TiB", "--set workload.stord", "did you mean 'stored'?"),
        ("workloads.stored=1TiB", "--set workloads.stored", "did you mean 'workload'?"),
        ("workload.stored=14TB", "--set workload.stored", "did you mean that, or 14 TiB?"),
        ("workload.popularity={zip: 0.8}", "--set workload.popularity", "did you mean 'zipf'?"),
        ("workload.popularity={zipf: 0.8", "--set workload.popularity", "in quotes for your shell"),
        ("workload.popularity={zipf: 1, zipf: 2}", "--set workload.popularity", "keep only the last"),
        ("workload.stored.bytes=1", "--set workload.stored.bytes", "workload.stored is a value without keys"),
        ("clusters.blue.core.volumes[7].size=1 GiB", "--set clusters.blue.core.volumes[7].size", "no such place"),
        ("clusters.blue.core.volumes.size=1 GiB", "--set clusters.blue.core.volumes.size", "by number, such as [0]"),
        ("targets.lost_nodes=-1", "--set targets.lost_nodes", "must be at least 0"),
        ("workload.stored", "--set workload.stored", "no equals sign"),
        ("=1TiB", "--set =1TiB", "not a series of keys with dots between them"),
        ("workload..stored=1TiB", "--set workload..stored=1TiB", "not a series of keys with dots between them"),
        ("workload.stored=\x1b[31m", "--set workload.stored", "control characters are not allowed"),
        ("account=111122223333", "--set account", """quotes of its own: --set account='"111122223333"'"""),
    ],
)
def test_a_message_names_the_option(file: Path, text: str, where: str, why: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_environment(str(file), assignments(text))
    assert error.value.problems[0].where == where
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("clusters.lake.workload.scaned=4 GiB", "did you mean 'scanned'?"),
        ("clusters.lake.targets.p99=1 s", "known here: hit_ratio, query_time, "),
        ("clusters.lake.primaries=3", "'primaries' is a key of clusters with engine: hbase"),
        ("clusters.blue.workers=3", "'workers' is a key of clusters with engine: trino"),
        ("clusters.blue.workload.scanned=4 GiB", "known here: reads"),
    ],
)
def test_an_unknown_key_of_a_cluster_is_compared_with_the_keys_of_its_engine(text: str, fix: str) -> None:
    with pytest.raises(InvalidInput, match=f"fix: {re.escape(fix)}"):
        read_environment("docs/analytics.yaml", assignments(text))


@pytest.mark.parametrize(
    ("path", "near"),
    [("workload.tables.user", "users"), ("workload.tables.evens", "events"), ("clusters.blu", "blue")],
)
def test_a_mistyped_name_of_a_table_or_cluster_adds_none(path: str, near: str) -> None:
    with pytest.raises(InvalidInput, match=f"the file has no {path}\n  fix: did you mean '{near}'") as error:
        read_environment("docs/several-tables.yaml", assignments(f"{path}.stored=4 TiB"))
    assert len(error.value.problems) == 1


def test_a_table_with_nearly_the_name_of_another_is_added_as_a_whole() -> None:
    table = "{stored: 1 GiB, cell: 1 KiB, row: 1 KiB, regions: 4, reads: {per_second: 1}}"
    texts = f"workload.tables.user={table}", "workload.tables.user.stored=2 GiB", "clusters.green.role=replica"
    read = read_environment("docs/several-tables.yaml", assignments(*texts))
    assert {"users", "user"} <= {part.name for part in read.workload.parts}
    assert "green" in read.clusters


def test_problems_of_the_file_keep_their_lines(file: Path) -> None:
    file.write_text(PINNED.replace("regions: 40", "regions: many"))
    with pytest.raises(InvalidInput) as error:
        read_environment(str(file), assignments("workload.stored=1TB"))
    assert [problem.where.rpartition("/")[2] for problem in error.value.problems] == [
        "--set workload.stored",
        "pinned.yaml:10",
    ]


def test_a_value_mends_the_value_of_the_file(file: Path) -> None:
    file.write_text(PINNED.replace("regions: 40", "regions: many"))
    assert read_environment(str(file), assignments("workload.regions=60")).workload.regions == 60


def test_each_key_in_a_mapping_of_set_is_stated(file: Path) -> None:
    environment = read_environment(str(file), assignments("workload.reads={per_second: 900, peak_per_second: 1600}"))
    assert environment.states("workload.reads.peak_per_second")
    assert not environment.states("workload.reads.rows")
    again = assignments("workload.reads={per_second: 900, peak_per_second: 1600}", "workload.reads={per_second: 7}")
    assert not read_environment(str(file), again).states("workload.reads.peak_per_second")
