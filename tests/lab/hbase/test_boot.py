"""A rendered RegionServer boots, is written and read, and is restarted: the cache is as planned and outlives it."""

from __future__ import annotations

import base64
import getpass
import json
import os
import re
import shlex
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.hbase.bench import COLD, Bench
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import CLIENT_LOGGING, PERSIST_INTERVAL_MS, Java
from lab.hbase.experiment import Experiment
from lab.hbase.jmx import bean
from lab.hbase.laboratory import ADMIN_FLAGS, laboratory, small_of
from lab.hbase.recording import Window
from lab.hbase.software import problems
from lab.hbase.store import ROOT, Settings
from lab.hbase.ycsb import YcsbLoad, YcsbTable
from lab.machine import memory
from lab.prediction import slot_bytes
from lab.scaled_plan import Small
from tests.bootstrap_actions.before_regionserver import PROGRAM
from tests.bootstrap_actions.services import services
from tests.bootstrap_actions.test_publish_cache_metrics import PublishingNode
from tests.lab.hbase.cached_lengths import cached_lengths
from tests.patience import HANG_SECONDS
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import METRICS, MetricSource
from warmbase.ground.block import cached_bytes
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import GIB, MIB
from warmbase.hfile.layout import FileEntry, LocalRoot, listing
from warmbase.hfile.store_file import data_blocks, data_header, opened
from warmbase.operations.aws.node_command import script
from warmbase.operations.on_node import probe_hbase, probe_settings

NEEDED_BYTES = 3 * GIB
SHOWN_CHARACTERS = 24_000  # Systems Manager API Reference, GetCommandInvocation
SMALL = Small(memory_bytes=NEEDED_BYTES, data_bytes=128 * MIB)

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def experiment(launches: Callable[[str], Launch], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    reasons = list(problems())
    available = memory().available_bytes
    if available is not None and available < NEEDED_BYTES:
        reasons.append(f"{available / GIB:.1f} GiB of memory are available; this needs {NEEDED_BYTES / GIB:.0f} GiB")
    if reasons:
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    of = small_of(launches("prod"), SMALL, Settings(latency_ms=5.0))
    with laboratory(of, tmp_path_factory.mktemp("lab"), lambda _: None) as bench:
        table = YcsbTable(name="usertable", rows=of.miniature.rows, value_bytes=of.miniature.workload.cell_bytes)
        yield Experiment(
            bench=bench, release=of.release, miniature=of.miniature, table=table, seconds=5.0, cores=2, seed=2
        )


def test_a_warm_cache_outlives_a_restart(experiment: Experiment) -> None:
    filled = experiment.filled()
    bench, table, blocks = filled.bench, filled.table, filled.miniature.demand.blocks.count
    bench.serve(LabServer(), cold=True)
    bench.wait_until(lambda now: now.l2_blocks >= blocks, HANG_SECONDS)
    warm = _read(bench, table)
    assert warm.hit_ratio >= 0.995
    assert warm.gets_per_1000_reads <= 1
    # The index is written by then.
    bench.wait_until(lambda _: False, 2 * PERSIST_INTERVAL_MS / 1000)

    bench.cluster.kill_server()
    bench.serve(LabServer(), cold=False)
    assert "retrieved from file successfully" in bench.cluster.place.log("server-0").read_text(encoding="utf-8")
    assert bench.sample(0.0).cache.l2_blocks >= 0.99 * blocks
    after = _read(bench, table)
    assert after.hit_ratio >= 0.995
    # Store files that were just opened are still read here and there, for their indexes.
    assert after.gets_per_1000_reads <= 10


def test_blocks_detected_in_store_files_take_the_slots_that_are_predicted(experiment: Experiment) -> None:
    """The table's slots agree to the byte; HBase's own tables have some more, in slots of some size."""
    small = experiment.filled().miniature
    cached, sizes = experiment.bench.sample(0.0).cache, small.demand.sizes
    own = cached.l2_blocks - small.demand.blocks.count
    assert 0 <= own <= 16
    claimed = round(slot_bytes(small, small.cache_mib, sizes) * small.demand.blocks.count)
    assert own * min(sizes) <= cached.l2_bytes - claimed <= own * max(sizes)


def test_every_block_is_as_long_in_the_cache_as_its_store_file_says(experiment: Experiment) -> None:
    """The table's lengths agree to the byte with the index that the RegionServer writes of its cache."""
    small, place = experiment.filled().miniature, experiment.bench.cluster.place
    root = LocalRoot(place.objects / ROOT)
    [family] = [item for item in listing(root.files()).families.values() if item.table == experiment.table.name]
    predicted = {}
    for stored in family.files:
        readable = root.readable(stored)
        file = opened(readable)
        blocks = data_blocks(readable, file)
        for header in (data_header(readable, file, blocks, number) for number in range(len(blocks))):
            predicted[stored.path.rpartition("/")[2], header.offset] = cached_bytes(header.payload_bytes)
    assert len(predicted) == small.demand.blocks.count
    # What is cached is written down within an interval.
    experiment.bench.wait_until(lambda _: False, 2 * PERSIST_INTERVAL_MS / 1000)
    cached = cached_lengths(experiment.bench.cluster.volume(LabServer()) / "index" / "bucketcache.index")
    assert {block: cached.get(block) for block in predicted} == predicted


def test_the_cache_is_as_large_as_was_rendered(experiment: Experiment) -> None:
    port = experiment.bench.cluster.place.ports.servers_info[0]
    result = bean(port, "Hadoop:service=HBase,name=RegionServer,sub=Server")
    size = result["l2CacheSize"] + result["l2CacheFreeSize"]
    assert 0.9 <= size / (experiment.miniature.cache_mib * MIB) <= 1.0


def test_what_a_probe_at_a_node_sees_is_what_its_regionserver_has_read(experiment: Experiment) -> None:
    """The program of `warmbase verify`, on this machine, whose RegionServer is the lab's."""
    port = experiment.bench.cluster.place.ports.servers_info[0]
    wanted = {"hbase.bucketcache.size": str(experiment.miniature.cache_mib), "no.such.key": None}
    rpc = experiment.bench.cluster.place.ports.servers[0]
    addresses = ("--region-server", f"http://127.0.0.1:{port}", "--rpc", f"127.0.0.1:{rpc}")
    process = subprocess.run(
        [sys.executable, "-m", probe_hbase.__name__, *addresses, *wanted],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    facts = json.loads(process.stdout)
    assert facts["configuration"] == wanted
    assert facts["stranger"] == "served", "without Kerberos"
    pages = (f"--page=RegionServer=http://127.0.0.1:{port}", "--page=silent=http://127.0.0.1:9")
    command = [sys.executable, "-m", probe_settings.__name__, *pages, "hbase.regionserver.msginterval"]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert len(process.stdout) < SHOWN_CHARACTERS
    answers = json.loads(zlib.decompress(base64.b64decode(json.loads(process.stdout)["packed"])))
    assert answers["silent"] is None
    settings = answers["RegionServer"]
    assert settings["hbase.bucketcache.size"] == [str(experiment.miniature.cache_mib), "hbase-site.xml"]
    assert settings["hbase.regionserver.msginterval"][1] == "hbase-default.xml", "named, although a default"
    assert "hbase.regionserver.logroll.period" not in settings, "a default"
    size = facts["figures"]["l2CacheSize"] + facts["figures"]["l2CacheFreeSize"]
    assert 0.9 <= size / (experiment.miniature.cache_mib * MIB) <= 1.0
    assert facts["region_server"]["user"] == getpass.getuser()
    assert any(argument.startswith("-Xmx") for argument in facts["region_server"]["arguments"])


def test_what_a_node_publishes_every_minute_is_what_its_regionserver_did(
    experiment: Experiment, tmp_path: Path
) -> None:
    port = experiment.bench.cluster.place.ports.servers_info[0]
    with services() as aws:
        node = PublishingNode(aws, tmp_path, f"http://127.0.0.1:{port}")
        assert node.run_once().returncode == 0
        window = _read(experiment.bench, experiment.table)
        assert node.run_once().returncode == 0
        figures = node.published()
    assert figures["Answering"] == figures["HostsMeta"] == 1
    assert figures["GetP99"] >= 0
    assert figures["UpSeconds"] > 0
    assert figures["Hits"] == pytest.approx(window.hits, rel=0.02)
    assert figures["HitRatio"] == pytest.approx(window.hit_ratio, abs=0.005)
    assert 0.8 < figures["Fill"] <= 1


def test_every_attribute_that_emrs_agent_is_requested_for_is_there(experiment: Experiment) -> None:
    ports = experiment.bench.cluster.place.ports
    where = {MetricSource.REGION_SERVER: ports.servers_info[0], MetricSource.MASTER: ports.master_info}
    for metric in METRICS:
        if metric.source in where:
            assert metric.attribute in bean(where[metric.source], metric.bean), metric


def test_a_prefetch_that_resumes_behind_cached_blocks_warns_of_checksums_or_ends(experiment: Experiment) -> None:
    """HBase's prefetch skips cached blocks, and then expects a block to be as long as the first that it skipped."""
    bench, cluster = experiment.filled().bench, experiment.bench.cluster
    bench.serve(LabServer(varied=COLD), cold=True)
    bench.ycsb.run(experiment.table, YcsbLoad(seconds=5.0, threads=2, target_per_second=60.0, seed=3))
    cluster.stop_servers()
    cached = set(cached_lengths(cluster.volume(LabServer()) / "index" / "bucketcache.index"))
    root = LocalRoot(cluster.place.objects / ROOT)
    [family] = [item for item in listing(root.files()).families.values() if item.table == experiment.table.name]
    expected = {event for stored in family.files for event in resumed(root, stored, cached)}
    log = cluster.place.log("server-0")
    before = log.stat().st_size
    bench.serve(LabServer(), cold=False)
    bench.wait_until_still(300.0, still_seconds=15.0)
    text = log.read_bytes()[before:].decode()
    events = {("warns", name, int(at)) for name, at in WARNED.findall(text)}
    events |= {("ends", name, int(at)) for name, at in ENDED.findall(text)}
    assert events
    assert events <= expected


WARNED = re.compile(r"HBase checksum verification failed for file \S+/usertable/\S+/(\w+) at offset (\d+)")
ENDED = re.compile(r"Prefetch path=\S+/usertable/\S+/(\w+), offset=(\d+), end=\d+\njava.nio.BufferUnderflowException")


def resumed(root: LocalRoot, stored: FileEntry, cached: set[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield the first place of this file, if any, where a prefetch expects a different length from the block's."""
    readable, name = root.readable(stored), stored.path.rpartition("/")[2]
    entries = data_blocks(readable, opened(readable))
    blocks, end = list[tuple[int, int]](), 0
    for offset, size in zip(entries.offsets, entries.sizes, strict=True):
        if offset > end:
            # A chunk of the Bloom filter, which a restarted server has not cached.
            blocks.append((end, offset - end))
        blocks.append((offset, size))
        end = offset + size
    expected = 0
    for place, (offset, size) in enumerate(blocks):
        if (name, offset) in cached:
            continue
        if expected not in (0, size):
            yield "ends" if expected < size else "warns", name, offset
            return
        expected = blocks[place + 1][1] if place + 1 < len(blocks) else 0


# Magic, blocks of a chunk, number of chunks; the rest is one chunk here.
HEADER_BYTES = 20
DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "20 bytes: nothing follows the first 20": lambda good: good[:HEADER_BYTES],
    "1 chunks, 2 announced": lambda good: good[:12] + (2).to_bytes(8, "big") + good[HEADER_BYTES:],
}


def test_an_index_that_stops_hbase_is_moved_aside_by_what_runs_before_it(
    experiment: Experiment, tmp_path: Path
) -> None:
    bench, cluster = experiment.filled().bench, experiment.bench.cluster
    if not cluster.serves:
        bench.serve(LabServer(), cold=True)
    bench.wait_until(lambda now: now.l2_blocks > 0, 60.0)
    cluster.stop_server()
    index = cluster.volume(LabServer()) / "index" / "bucketcache.index"
    good = index.read_bytes()
    assert _guarded(experiment, tmp_path) == ""
    assert index.read_bytes() == good
    for reason, damage in DAMAGED.items():
        index.write_bytes(damage(good))
        with pytest.raises(OperationFailed, match="NullPointerException: "):
            cluster.start_server(LabServer())
        assert f"moved {index} to {index}.damaged-" in (text := _guarded(experiment, tmp_path))
        assert reason in text
    # What a clean stop left is moved too, where a byte of it is missing; HBase itself would start without it.
    index.write_bytes(good[:-1])
    assert f"message 1 of 1, at byte 20 of {len(good) - 1}, is cut off" in _guarded(experiment, tmp_path)
    cluster.start_server(LabServer())


def _guarded(experiment: Experiment, directory: Path) -> str:
    """Return what systemd would write to the journal before it starts this RegionServer."""
    cluster, program = experiment.bench.cluster, directory / "before_regionserver.py"
    program.write_text(PROGRAM, encoding="utf-8")
    volume = cluster.volume(LabServer())
    answer = subprocess.run(
        [
            sys.executable,
            str(program),
            f"--hbase-site={cluster.place.configuration('server-0') / 'hbase-site.xml'}",
            f"--volume={next(parent for parent in volume.parents if os.path.ismount(parent))}",
            f"--owner={getpass.getuser()}",
            # Those of a launch; the file has others, and they count.
            "--cache-file=/launch/cache/blocks",
            f"--cache-mib={experiment.miniature.cache_mib}",
            "--index-file=/launch/index/bucketcache.index",
            "--index-mib=1",
            "--index-format=chunked",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stderr


def _read(bench: Bench, table: YcsbTable) -> Window:
    return bench.measure(table, YcsbLoad(seconds=8.0, threads=4, seed=2))


HBASE = """#!/bin/sh
# What `bin/hbase` does with these commands; its shell is not in the lab, and has one table to list.
case $1 in
  shell) cat >/dev/null; printf 'TABLE\\nusertable\\n1 row(s)\\n'; exit ;;
  master) shift; set -- org.apache.hadoop.hbase.master.HMaster "$@" ;;
  zkcli) shift; set -- org.apache.hadoop.hbase.zookeeper.ZKMainServer "$@" ;;
esac
exec {java} "$@"
"""
HDFS = """#!/bin/sh
shift
exec {java} org.apache.hadoop.fs.FsShell -conf {site} "$@"
"""


def test_what_a_teardown_looks_at_is_what_hbase_has(experiment: Experiment, tmp_path: Path) -> None:
    """Its steps' scripts, beside a real HBase: the last of this file, for HBase has ended then."""
    cluster, table = experiment.bench.cluster, experiment.filled().table.name
    if not cluster.serves:
        experiment.bench.serve(LabServer(), cold=True)
    node = Stepping(experiment, tmp_path)
    root = node.java("org.apache.hadoop.hbase.util.HBaseConfTool", "hbase.rootdir").splitlines()[-1]
    for process, caches in (("master", False), ("server-0", True)):
        result = node.answer("inspect-primary", str(_logs_of(cluster.place.log(process), tmp_path / process)))
        assert bool(result["master_caches"]) is caches
    node.java("org.apache.hadoop.hbase.snapshot.CreateSnapshot", "-n", "first", "-t", table)
    assert node.answer("verify-export", root) == {"missing": [], "stale": []}
    experiment.bench.ycsb.fill(replace(experiment.table, rows=10))
    experiment.bench.admin.flush(table)
    assert node.answer("verify-export", root) == {"missing": [], "stale": [table]}

    stored = node.answer("inspect-wals")
    assert (bool(stored["files"]), stored["down"]) == (True, False)
    assert node.answer("stop-hbase", "120") == {"servers": [], "returned": False}
    assert node.answer("inspect-wals") == {**stored, "files": [], "down": True}
    assert node.answer("disable-tables") == {"down": True}


def _logs_of(log: Path, directory: Path) -> Path:
    """A directory where that log is a master's."""
    directory.mkdir()
    (directory / "hbase-hbase-master-ip-10-0-0-1.log").symlink_to(log)
    return directory


class Stepping:
    """A primary of the lab's HBase on which steps run."""

    def __init__(self, experiment: Experiment, directory: Path) -> None:
        cluster = experiment.bench.cluster
        place = cluster.place
        logging = place.configuration("client") / CLIENT_LOGGING
        self.command = Java(
            software=cluster.software,
            configuration=place.configuration("server-0"),
            scratch=place.scratch,
            flags=(*ADMIN_FLAGS, f"-Dlog4j2.configurationFile={logging}"),
        ).arguments()
        self.directory, self.answers = directory / "node", directory / "answer"
        self.directory.mkdir()
        java = shlex.join(self.command)
        for name, text in (
            ("hbase", HBASE.format(java=java)),
            ("hdfs", HDFS.format(java=java, site=place.configuration("server-0") / "hbase-site.xml")),
            ("aws", f"#!/bin/sh\ncat >{self.answers}\n"),
        ):
            (self.directory / name).write_text(text, encoding="utf-8")
            (self.directory / name).chmod(0o755)

    def java(self, *main: str) -> str:
        """Return what a class of HBase prints."""
        return subprocess.run(
            [*self.command, *main], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
        ).stdout

    def answer(self, name: str, *arguments: str) -> Any:
        """Return the output of the script of that name, run as EMR's command-runner.jar runs it."""
        self.answers.unlink(missing_ok=True)
        process = subprocess.run(
            ["bash", "-c", script(name), name, "s3://logs/answer", *arguments],
            env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        assert process.returncode == 0, process.stderr
        return json.loads(self.answers.read_text(encoding="utf-8"))
