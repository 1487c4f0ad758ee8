"""Settings of one cluster, of its name and of snapshots in an environment file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments.test_reader import GOOD
from warmbase.environments.names import emr_cluster_name
from warmbase.environments.planning import plan_of, requirements
from warmbase.environments.reader import read_environment
from warmbase.facts.prices import priced_regions
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.workload.workload import OpenLoad

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def text_in_file(text: str, *changes: tuple[str, str]) -> Path:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "try.yaml"
        file.write_text(text)
        return file

    return text_in_file


REPLICA = """
  green:
    role: replica
    workload: {reads: {per_second: 40, kind: scan, rows: 10}}
    targets: {hit_ratio: 0.5, lost_nodes: 0}
"""


def with_replica(text: str, replica: str = REPLICA) -> str:
    head, clusters = text.split("clusters:\n")
    name, *rest = clusters.splitlines(keepends=True)
    return f"{head}clusters:{replica}{name}{''.join(rest)}"


def test_a_replica_has_its_own_reads_and_targets(write: Write) -> None:
    environment = read_environment(str(write(with_replica(GOOD))))
    clusters = environment.clusters
    active, replica = (requirements(environment, clusters[name]) for name in ("blue", "green"))
    assert active.workload == environment.workload
    assert active.targets == environment.targets
    assert replica.workload.load == OpenLoad(reads_per_second=40)
    assert (replica.workload.reads.kind, replica.workload.reads.rows) == ("scan", 10)
    assert replica.workload.stored_bytes == active.workload.stored_bytes
    assert (replica.targets.hit_ratio, replica.targets.lost_nodes) == (0.5, 0)
    cheaper, dearer = (plan_of(environment, clusters[name]) for name in ("green", "blue"))
    assert cheaper.throughput.offered_reads_per_second == 40
    assert cheaper.cost.usd_per_month <= dearer.cost.usd_per_month


def test_a_cluster_cannot_lose_all_its_nodes_by_its_own_target(write: Write) -> None:
    replica = "\n  green: {role: replica, core: {count: 2}, targets: {lost_nodes: 2}}\n"
    with pytest.raises(InvalidInput, match="2 lost of 2 core nodes") as error:
        read_environment(str(write(with_replica(GOOD, replica))))
    line = with_replica(GOOD, replica).splitlines().index(replica.strip("\n")) + 1
    assert error.value.problems[0].where.endswith(f":{line}")


@pytest.mark.parametrize(("mappers", "rate"), [(None, 1), (1, 1 / 3), (200, 200 / 3)])
def test_more_mappers_copy_faster_and_need_memory(mappers: int | None, rate: float, write: Write) -> None:
    stated = f"snapshots: {{mappers: {mappers}}}\n" if mappers else ""
    environment = read_environment(str(write(stated + GOOD)))
    unstated = read_environment(str(write(GOOD)))
    sized, usual = (plan_of(read, read.active) for read in (environment, unstated))
    assert sized.snapshot.mappers == mappers or sized.core.count
    assert sized.snapshot.yarn_mib == 2_048 * max(1, -(-sized.snapshot.mappers // sized.core.count))
    faster = usual.snapshot.export_seconds / sized.snapshot.export_seconds
    assert faster <= sized.snapshot.mappers / usual.snapshot.mappers * (1 + 1e-9)
    assert (faster > 1) == (rate > 1)


def test_the_longest_name_fits_every_resource_of_every_region(write: Write) -> None:
    name = "customer-events-prod2"
    environment = read_environment(str(write(GOOD, ("name: try", f"name: {name}"))))
    longest = max(map(len, priced_regions()))
    for bucket in (environment.root.bucket, environment.log_bucket):
        filled_in = environment.in_account(bucket, "1" * 12)
        assert len(filled_in) - len(environment.region) + longest <= 63
    assert len(environment.wal_workspace) <= 32
    assert len(f"{emr_cluster_name(name, 'a' * 12)}-") + longest <= 64, "a role's name"
    with pytest.raises(InvalidInput, match="at most 21 lower-case letters"):
        read_environment(str(write(GOOD, ("name: try", f"name: {name}2"))))
