"""The figures that the timer's program publishes of a Trino worker's cache each minute."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.bootstrap_actions.services import Services, run_program, services
from warmbase.configurations import node_files

PROJECT = Path(__file__).parents[2]
PROGRAM = PROJECT / "bootstrap-actions" / "programs" / "publish_trino_metrics.py"
READS = "io.trino.filesystem.alluxio:type=AlluxioCacheStats,name=hive,catalog=hive"
EVICTED = "org.alluxio:name=Client.CachePagesEvicted,type=meters"
SPACE = "org.alluxio:name=Client.CacheSpaceUsedCount,type=counters"
RUNTIME = "java.lang:type=Runtime"
STARTED = 1_700_000_000_000


def beans(
    cache: float = 0, remote: float = 0, *, started: int = STARTED, used: int = 0
) -> dict[str, dict[str, object]]:
    """Return the beans of a worker that has read so many bytes; each read has a thousand."""
    reads: dict[str, object] = {
        "CacheReads.AllTime.Total": cache,
        "CacheReads.AllTime.Count": cache / 1000,
        "CacheReads.AllTime.Avg": "NaN",
        "ExternalReads.AllTime.Total": remote,
        "ExternalReads.AllTime.Count": remote / 1000,
    }
    return {READS: reads, RUNTIME: {"StartTime": started}, SPACE: {"Count": used}}


class Worker(Struct, dict=True):
    """A worker's node with its services, and the program run on it minute by minute."""

    aws: Services
    directory: Path
    least_hit_rate: float = 0.75

    @property
    def state(self) -> Path:
        """Return where the program keeps the counters."""
        return self.directory / "state" / "counters.json"

    def minute(self, counted: dict[str, dict[str, object]] | None) -> subprocess.CompletedProcess[str]:
        """Run the publisher once more, a minute later, with these counters."""
        self.aws.trino = counted
        job_flow = self.directory / "job-flow.json"
        job_flow.write_text('{"jobFlowId": "j-LAKE"}')
        services = (f"--trino={self.aws.url}", f"--metadata={self.aws.url}", f"--cloudwatch={self.aws.url}")
        files = (f"--state={self.state}", f"--job-flow={job_flow}", f"--cache={self.directory}")
        planned = ("--catalog=hive", f"--least-hit-rate={self.least_hit_rate}")
        return run_program("publish_trino_metrics.py", *services, *files, *planned)

    def published(self) -> dict[str, float]:
        """Return the figures that were sent last, by name."""
        return self.aws.figures()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with services() as aws:
        yield Worker(aws, tmp_path)


def test_each_minute_has_its_own_figures(worker: Worker) -> None:
    assert worker.minute(beans(5_000_000, 9_000_000)).returncode == 0
    assert "HitRate" not in worker.published()  # nothing to difference yet
    done = worker.minute({**beans(11_000_000, 11_000_000, used=700), EVICTED: {"Count": 7}})
    assert done.returncode == 0, done.stderr
    figures = worker.published()
    assert 0 < figures.pop("DiskUsed") < 1
    assert figures == {
        "Answering": 1,
        "ReadFromCache": 6_000_000,
        "ReadFromRemote": 2_000_000,
        "RemoteOverLimit": 0,
        "HitRate": 0.75,
        "CacheReads": 6_000,
        "RemoteReads": 2_000,
        "PagesEvicted": 7,
        "SpaceUsed": 700,
    }
    last = worker.aws.published[-1]
    assert last["MetricData.member.1.Dimensions.member.1.Value"] == "j-LAKE"
    assert last["MetricData.member.1.Dimensions.member.2.Value"] == "i-1"


def test_after_a_restart_the_window_is_what_was_counted_since(worker: Worker) -> None:
    worker.minute({**beans(1_000, 1_000), EVICTED: {"Count": 50}})
    worker.minute(beans(2_000, 3_000, started=STARTED + 60_000))
    figures = worker.published()
    assert (figures["ReadFromCache"], figures["ReadFromRemote"], figures["PagesEvicted"]) == (2_000, 3_000, 0)


def test_without_a_read_there_is_no_hit_rate(worker: Worker) -> None:
    worker.minute(beans(1_000))
    worker.minute(beans(1_000))
    assert "HitRate" not in worker.published()
    assert worker.published()["ReadFromCache"] == 0


@pytest.mark.parametrize(("cache", "remote"), [(740, 260), (750, 250), (760, 240)])
def test_the_sum_over_workers_turns_where_the_hit_rate_of_the_cluster_does(
    worker: Worker, cache: int, remote: int
) -> None:
    """Two workers of unequal load and ratio: together below 0.75 where the sum of what they publish is above 0."""
    over = []
    for cached, fetched in ((0.9 * cache, 0.2 * remote), (0.1 * cache, 0.8 * remote)):
        worker.state.unlink(missing_ok=True)
        worker.minute(beans())
        worker.minute(beans(1_000 * cached, 1_000 * fetched))
        over.append(worker.published()["RemoteOverLimit"])
    assert (sum(over) > 1e-6) == (cache / (cache + remote) < 0.75)


@pytest.mark.parametrize(
    "counted",
    [
        None,
        {},
        {RUNTIME: {"StartTime": STARTED}},
        {**beans(), SPACE: {"Count": "NaN"}},
        {**beans(), SPACE: {"Count": None}},
        {**beans(), RUNTIME: {}},
    ],
)
def test_a_worker_that_does_not_tell_is_published(worker: Worker, counted: dict[str, dict[str, object]] | None) -> None:
    worker.minute(beans(1_000))
    done = worker.minute(counted)
    assert done.returncode == 0, done.stderr
    assert worker.published() == {"Answering": 0}
    assert "does not tell what its cache did" in done.stderr
    worker.minute(beans(1_500))
    assert worker.published()["ReadFromCache"] == 500


def test_a_minute_that_could_not_be_published_is_part_of_the_next(worker: Worker) -> None:
    worker.minute(beans(100))
    worker.aws.faults.append(("cloudwatch", 500, "InternalFailure"))
    failed = worker.minute(beans(150))
    assert failed.returncode == 1
    assert "nothing was published: PutMetricData: 500 InternalFailure" in failed.stderr
    worker.minute(beans(175))
    assert worker.published()["ReadFromCache"] == 75


@pytest.mark.parametrize("change", [{"at": 1e12}, {"at": 0}, {"at": "x"}, {"cache_bytes": "x"}, {"started": None}])
def test_counters_that_cannot_be_used_are_begun_anew(worker: Worker, change: dict[str, object]) -> None:
    worker.minute(beans(100))
    worker.state.write_text(json.dumps(json.loads(worker.state.read_text()) | change))
    assert worker.minute(beans(150)).returncode == 0
    assert "ReadFromCache" not in worker.published()
    worker.minute(beans(175))
    assert worker.published()["ReadFromCache"] == 25


def test_the_program_asks_emrs_port_and_looks_where_a_node_has_its_cache() -> None:
    text = PROGRAM.read_text()
    assert 'TRINO = "http://127.0.0.1:8889"' in text
    assert f'CACHE = Path("{node_files.CACHE}")' in text
