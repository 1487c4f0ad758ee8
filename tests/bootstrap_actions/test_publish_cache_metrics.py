"""The figures that the timer's program publishes of a RegionServer's cache each minute."""

from __future__ import annotations

import json
import os
import re
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from msgspec import Struct

from lab.hbase.recording import recordings_of_json
from tests.bootstrap_actions.services import TURN_SECONDS, Services, run_program, services
from warmbase.configurations import node_files
from warmbase.configurations.metrics import COLD, COOL, METRICS, MetricSource

PROJECT = Path(__file__).parents[2]
PROGRAM = PROJECT / "bootstrap-actions" / "programs" / "publish_cache_metrics.py"
RECORDED = PROJECT / "tests" / "dashboards" / "preview" / "recorded"
STARTED = 1_700_000_000_000
EMPTY = {
    "regionServerStartTime": STARTED,
    "l2CacheHitCount": 0,
    "l2CacheMissCount": 0,
    "l2CacheEvictionCount": 0,
    "blockCacheFailedInsertionCount": 0,
    "l2CacheSize": 0,
    "l2CacheFreeSize": 1000,
}


class PublishingNode(Struct, dict=True):
    """A node with its services, and the program run on it minute by minute."""

    aws: Services
    directory: Path
    region_server: str = ""
    cloudwatch: str = ""

    @property
    def state(self) -> Path:
        """Where the program keeps what it saw."""
        return self.directory / "state" / "counters.json"

    @property
    def index(self) -> Path:
        """Return the index of the cache."""
        return self.directory / "bucketcache.index"

    @property
    def devices(self) -> Path:
        """Return the kernel's counters of block devices."""
        return self.directory / "block"

    def volume(
        self, *, reads: int, sectors_read: int, writes: int, sectors_written: int, directory: Path | None = None
    ) -> None:
        """Write the counters that the kernel has for the volume of a directory, by default the first cache volume."""
        device = (directory or self.directory).stat().st_dev
        place = self.devices / f"{os.major(device)}:{os.minor(device)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "stat").write_text(f"  {reads} 0 {sectors_read} 0 {writes} 0 {sectors_written} 0 0 0 0\n")

    def minute(self, **counted: object) -> subprocess.CompletedProcess[str]:
        """Run the publisher once more, a minute later, with these counters."""
        self.aws.bean = {**(self.aws.bean or EMPTY), **counted}
        return self.run_once()

    def run_once(self) -> subprocess.CompletedProcess[str]:
        """Run the publisher once more on the counters as they are."""
        job_flow = self.directory / "job-flow.json"
        job_flow.write_text('{"jobFlowId": "j-ONE"}')
        server = self.region_server or self.aws.url
        cloudwatch = self.cloudwatch or self.aws.url
        places = (f"--region-server={server}", f"--metadata={self.aws.url}", f"--cloudwatch={cloudwatch}")
        kept = (f"--state={self.state}", f"--job-flow={job_flow}", "--misses-for-one=2")
        looked_at = (f"--cache={self.directory}", f"--index={self.index}", f"--block-devices={self.devices}")
        return run_program("publish_cache_metrics.py", *places, *kept, *looked_at)

    def published(self) -> dict[str, float]:
        """Return the figures of the last look, by name."""
        return self.aws.figures()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[PublishingNode]:
    with services() as aws:
        yield PublishingNode(aws, tmp_path)


def test_each_minute_has_its_own_figures(node: PublishingNode) -> None:
    assert node.minute(l2CacheHitCount=5_000, l2CacheMissCount=10_000).returncode == 0
    assert "Hits" not in node.published()  # nothing to difference yet
    done = node.minute(l2CacheHitCount=5_900, l2CacheMissCount=10_200, l2CacheEvictionCount=7, l2CacheSize=250)
    assert done.returncode == 0, done.stderr
    found = node.published()
    assert 0 < found.pop("DiskUsed") < 1
    assert found.pop("UpSeconds") > 1e7
    assert found.pop("IndexBehindSeconds") == 0
    assert found == {
        "Answering": 1,
        "HostsMeta": 0,
        "CacheLost": 0,
        "Hits": 900,
        "Misses": 100,
        "MissesOver90": 0,
        "MissesOver80": -100,
        "LongPauses": 0,
        "VolumeBytes": 0,
        "VolumeOperations": 0,
        "HitRatio": 0.9,
        "Below90": 0,
        "Below80": 0,
        "Evictions": 7,
        "FailedInsertions": 0,
        "Fill": 0.2,
        "FreeBytes": 1000,
    }
    node.minute(l2CacheHitCount=5_979, l2CacheMissCount=10_242)
    assert node.published()["HitRatio"] == pytest.approx(0.79)
    assert (node.published()["Below90"], node.published()["Below80"]) == (1, 1)


def test_it_is_published_as_cloudwatch_wants_it(node: PublishingNode) -> None:
    node.minute()
    said = node.aws.published[-1]
    assert said["Action"] == "PutMetricData"
    assert said["Namespace"] == "warmbase"
    dimensions = {
        said[f"MetricData.member.1.Dimensions.member.{n}.Name"]: said[
            f"MetricData.member.1.Dimensions.member.{n}.Value"
        ]
        for n in (1, 2)
    }
    assert dimensions == {"ClusterId": "j-ONE", "InstanceId": "i-1"}
    assert said["MetricData.member.1.Timestamp"].endswith("Z")
    assert node.aws.signed[-1].startswith("AWS4-HMAC-SHA256 Credential=AKIATEST/")


@pytest.mark.parametrize(("hits", "misses", "window"), [(300, 200, (300, 100)), (10_500, 2_100, (10_500, 1_050))])
def test_after_a_restart_the_window_is_what_was_counted_since(
    node: PublishingNode, hits: int, misses: int, window: tuple[int, int]
) -> None:
    """Also where the counters have passed their old values."""
    node.minute(l2CacheHitCount=10_000, l2CacheMissCount=2_000)
    node.minute(regionServerStartTime=STARTED + 60_000, l2CacheHitCount=hits, l2CacheMissCount=misses)
    assert (node.published()["Hits"], node.published()["Misses"]) == window


def test_without_reads_there_is_no_ratio(node: PublishingNode) -> None:
    node.minute(l2CacheHitCount=1)
    node.minute()
    assert not {"HitRatio", "Below90", "Below80"} & set(node.published())


def test_a_server_that_does_not_answer_is_published(node: PublishingNode) -> None:
    node.minute(l2CacheHitCount=1)
    node.aws.bean = None
    done = node.run_once()
    assert done.returncode == 0
    assert node.published() == {"Answering": 0}
    assert "does not answer" in done.stderr
    node.minute(l2CacheHitCount=50)
    assert node.published()["Answering"] == 1


def test_a_minute_that_could_not_be_published_is_part_of_the_next(node: PublishingNode) -> None:
    node.minute(l2CacheHitCount=100)
    node.aws.faults.append(("cloudwatch", 500, "InternalFailure"))
    failed = node.minute(l2CacheHitCount=150)
    assert failed.returncode == 1
    assert "nothing was published: PutMetricData: 500 InternalFailure" in failed.stderr
    node.minute(l2CacheHitCount=175)
    assert node.published()["Hits"] == 75


def test_an_old_look_is_no_minute(node: PublishingNode) -> None:
    node.minute(l2CacheHitCount=100)
    kept = json.loads(node.state.read_text())
    node.state.write_text(json.dumps(kept | {"at": kept["at"] - 3600}))
    node.minute(l2CacheHitCount=150)
    assert "Hits" not in node.published()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"at": "x"}', '{"at": 1e12, "counters": {}}'])
def test_a_state_that_cannot_be_read_is_begun_anew(node: PublishingNode, content: str) -> None:
    node.state.parent.mkdir()
    node.state.write_text(content)
    assert node.minute(l2CacheHitCount=100).returncode == 0
    assert node.minute(l2CacheHitCount=150).returncode == 0
    assert node.published()["Hits"] == 50


def test_a_recorded_restart_is_told_minute_by_minute(node: PublishingNode) -> None:
    """The lab's counters through a restart: no window is negative, none has more hits than were counted."""
    [recorded, *_] = recordings_of_json((RECORDED / "restart.json").read_text())
    before, started = 0, STARTED
    for sample in recorded.samples[:: max(1, len(recorded.samples) // 12)]:
        counted = sample.cache
        started += counted.l2_hits < before
        before = counted.l2_hits
        done = node.minute(
            regionServerStartTime=started,
            l2CacheHitCount=counted.l2_hits,
            l2CacheMissCount=counted.l2_misses,
            l2CacheEvictionCount=counted.l2_evictions,
            l2CacheSize=counted.l2_bytes,
        )
        assert done.returncode == 0, done.stderr
        figures = node.published()
        assert all(value >= 0 for name, value in figures.items() if not name.startswith("MissesOver"))
        assert figures.get("Hits", 0) <= counted.l2_hits


def test_names_and_units_are_those_of_the_catalogue(node: PublishingNode) -> None:
    node.minute(Get_99th_percentile=7)
    node.minute(l2CacheHitCount=1)
    assert node.aws.sent("Unit") == {
        metric.cloudwatch: metric.unit for metric in METRICS if metric.source is MetricSource.NODE
    }


def test_it_looks_where_a_node_has_its_cache_and_index() -> None:
    text = PROGRAM.read_text()
    assert f'CACHE = Path("{node_files.CACHE}")' in text
    assert str(Path(node_files.INDEX_FILE).relative_to(node_files.CACHE)) == "index/bucketcache.index"


def test_over_ninety_is_where_the_sum_of_all_servers_turns(node: PublishingNode) -> None:
    """Two servers of unequal load: the cluster's ratio is below 0.90 where what they publish adds up above 0."""
    for hits, misses in ((890, 110), (900, 100), (910, 90)):
        over = []
        for part in (0.3, 0.7):
            node.state.unlink(missing_ok=True)
            node.minute(l2CacheHitCount=0, l2CacheMissCount=0)
            node.minute(l2CacheHitCount=round(part * hits * 10), l2CacheMissCount=round(part * misses * 20))
            over.append(node.published()["MissesOver90"])
        assert (sum(over) > 1e-6) == (hits / (hits + misses) < 0.90)


def test_what_the_volume_did_is_published(node: PublishingNode) -> None:
    node.volume(reads=10, sectors_read=80, writes=5, sectors_written=40)
    node.minute()
    node.volume(reads=25, sectors_read=180, writes=6, sectors_written=44)
    node.minute()
    assert (node.published()["VolumeOperations"], node.published()["VolumeBytes"]) == (16, 104 * 512)


def test_the_busiest_of_several_volumes_is_published(node: PublishingNode) -> None:
    second = node.directory.with_name(f"{node.directory.name}-2")
    second.symlink_to("/dev/shm")  # noqa: S108 - another device
    assert second.stat().st_dev != node.directory.stat().st_dev
    node.volume(reads=900, sectors_read=9_000, writes=900, sectors_written=9_000)
    node.volume(reads=10, sectors_read=80, writes=5, sectors_written=40, directory=second)
    node.minute()
    node.volume(reads=907, sectors_read=9_000, writes=900, sectors_written=9_000)
    node.volume(reads=14, sectors_read=180, writes=6, sectors_written=44, directory=second)
    node.minute()
    assert (node.published()["VolumeOperations"], node.published()["VolumeBytes"]) == (7, 104 * 512)


def test_a_restart_that_lost_the_cache_is_told_apart_from_one_that_kept_it(node: PublishingNode) -> None:
    now = round(time.time() * 1000)
    node.minute(regionServerStartTime=now - 9_000_000, l2CacheSize=900, l2CacheFreeSize=100)
    node.minute(regionServerStartTime=now - 60_000, l2CacheSize=890, l2CacheFreeSize=110)
    assert node.published()["CacheLost"] == 0
    node.minute(regionServerStartTime=now - 1_000, l2CacheSize=10, l2CacheFreeSize=990)
    assert node.published()["CacheLost"] == 1
    # Restarted again before it has refilled.
    node.minute(regionServerStartTime=now - 500, l2CacheSize=20, l2CacheFreeSize=980)
    assert node.published()["CacheLost"] == 1
    node.minute(l2CacheSize=400, l2CacheFreeSize=600)
    assert node.published()["CacheLost"] == 1
    node.minute(l2CacheSize=600, l2CacheFreeSize=400)
    assert node.published()["CacheLost"] == 0


def test_an_index_that_is_not_written_any_more_falls_behind(node: PublishingNode) -> None:
    node.index.write_bytes(b"index")
    old = time.time() - 2_000
    os.utime(node.index, (old, old))
    node.minute()
    node.minute(l2CacheSize=100)
    kept = json.loads(node.state.read_text())
    assert kept["changed_at"] == kept["at"]
    node.state.write_text(json.dumps(kept | {"changed_at": kept["at"] - 1_800}))
    node.minute()
    assert 1_800 <= node.published()["IndexBehindSeconds"] <= 1_800 + time.time() - kept["at"]
    os.utime(node.index)
    node.minute()
    assert node.published()["IndexBehindSeconds"] == 0


def test_an_index_that_has_the_last_change_is_not_behind_though_none_follows(node: PublishingNode) -> None:
    """A block is cached and the index written between two looks, and nothing changes any more."""
    node.minute()
    node.index.write_bytes(b"index")
    node.minute(l2CacheSize=100)
    for _ in range(3):
        node.minute()
        assert node.published()["IndexBehindSeconds"] == 0


def test_a_handful_of_reads_is_no_cold_server(node: PublishingNode) -> None:
    node.minute()
    node.minute(l2CacheHitCount=3, l2CacheMissCount=4)
    found = node.published()
    assert (found["HitRatio"], found["Below90"], found["Below80"]) == (0.6, 0, 0)


def test_the_publisher_counts_by_the_thresholds_of_the_dashboards() -> None:
    [thresholds] = re.findall(r"^COLD, COOL = ([\d.]+), ([\d.]+)$", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(map(float, thresholds)) == (COLD, COOL)


def test_the_server_of_meta_says_so(node: PublishingNode) -> None:
    node.aws.meta = True
    node.minute()
    assert node.published()["HostsMeta"] == 1


@pytest.mark.parametrize("value", [float("nan"), "NaN", float("inf"), "-Infinity", "x", None])
def test_a_percentile_that_is_no_number_does_not_stop_the_others(node: PublishingNode, value: object) -> None:
    node.minute(Get_99th_percentile=value)
    assert node.published()["Answering"] == 1
    assert "GetP99" not in node.published()


@pytest.mark.parametrize("value", [float("nan"), "NaN", float("inf"), 10**30, [], None])
def test_a_counter_that_is_no_number_is_a_server_that_does_not_answer(node: PublishingNode, value: object) -> None:
    done = node.minute(l2CacheHitCount=value)
    assert done.returncode == 0, done.stderr
    assert node.published() == {"Answering": 0}


@pytest.mark.thorough
def test_a_slow_page_is_a_server_that_does_not_answer(node: PublishingNode) -> None:
    with raw_server(b"HTTP/1.0 200 OK\r\nX: ", b" ", 0.5) as node.region_server:
        assert node.run_once().returncode == 0
    assert node.published() == {"Answering": 0}


def test_an_endless_page_is_a_server_that_does_not_answer(node: PublishingNode) -> None:
    with raw_server(b"HTTP/1.0 200 OK\r\n\r\n", b"[" * (1 << 20), 0.0) as node.region_server:
        done = node.run_once()
    assert done.returncode == 0, done.stderr
    assert node.published() == {"Answering": 0}


@contextmanager
def raw_server(head: bytes, part: bytes, pause_seconds: float) -> Iterator[str]:
    """Serve every connection a head and then the same part for ever; yields the URL."""

    class Endless(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            with suppress(OSError):
                self.request.sendall(head)
                while not over.wait(pause_seconds):
                    self.request.sendall(part)

    over = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Endless) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(TURN_SECONDS,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            over.set()
            server.shutdown()
