"""A volume and a group of the lab hold what they promise, on this machine's own kernel, and leave nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import machine
from lab.machine import IdleCpu, OwnCpu, control_groups, volume
from lab.machine.control_groups import (
    ControlGroups,
    DiskLimits,
    GroupLayout,
    layout_of,
    limited_writes,
    pass_on_controllers,
)
from lab.machine.process import Command, start
from lab.machine.volume import LimitedVolume, Traffic, backing_file, clean, loop_devices, traffic_of
from tests.patience import HANG_SECONDS, wait_until
from warmbase.ground.errors import OperationFailed

MIB = 1 << 20
PROJECT = Path(__file__).parents[3]
VOLUME_BYTES = 320 * MIB
FILE_BYTES = 128 * MIB
SMALL_BYTES = 16 * MIB
MEMORY_BYTES = 48 * MIB
SECONDS = 1.0
SLACK = 0.2
"""The error of a rate over so short a time, on a machine that other tests use as well."""

NO_GROUP = control_groups.unavailable()
with_group = pytest.mark.skipif(NO_GROUP is not None, reason=NO_GROUP or "")

READER = """
import os, random, sys, threading, time
file, seconds, block = os.open(sys.argv[1], os.O_RDONLY), float(sys.argv[2]), int(sys.argv[3])
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
blocks, until, counts = os.fstat(file).st_size // block, time.monotonic() + seconds, [0] * 8
def read(thread):
    choose = random.Random(thread)
    while time.monotonic() < until:
        counts[thread] += len(os.pread(file, block, choose.randrange(blocks) * block))
threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(sum(counts))
"""
HOLDER = """
import sys, time
from pathlib import Path
from lab.machine.volume import LimitedVolume
directory = Path(sys.argv[1])
with LimitedVolume(directory=directory, mount_point=directory / "cache", size_bytes=64 << 20):
    print("made", flush=True)
    time.sleep(3600)
"""
OWNER = """
import time
from lab.machine.control_groups import ControlGroups
with ControlGroups(id="test") as group:
    print(*group.paths, flush=True)
    time.sleep(3600)
"""


def read_bytes_by(group: ControlGroups, file: Path, block_bytes: int = 64 << 10) -> int:
    """Return what a process of the group reads at random in SECONDS; nothing of the file is in memory before."""
    forget(file)
    output = file.with_name("reader.txt")
    output.unlink(missing_ok=True)
    command = (sys.executable, "-c", READER, str(file), str(SECONDS), str(block_bytes))
    reader = start(Command(name="reader", arguments=command, directory=file.parent, output=output, groups=group.paths))
    try:
        reader.process.wait(HANG_SECONDS)
    finally:
        reader.kill()
    return int(output.read_text())


def write_file(file: Path, size_bytes: int) -> Path:
    """Write random bytes to the disk."""
    with file.open("wb") as stream:
        for _ in range(size_bytes // MIB):
            stream.write(os.urandom(MIB))
        stream.flush()
        os.fsync(stream.fileno())
    return file


def forget(file: Path) -> None:
    """Has the page cache let go of it."""
    with file.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def attached_in(directory: Path) -> list[Path]:
    return [file for file in map(backing_file, loop_devices()) if directory.resolve() in file.parents]


def mounted_in(directory: Path) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(directory) in line]


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where no volume is to be had: not by this user, on this system, or on the file system of the tests."""
    if reason := volume.unavailable():
        pytest.skip(reason)
    directory = tmp_path_factory.mktemp("tried")
    try:
        with LimitedVolume(directory=directory, mount_point=directory / "cache", size_bytes=64 * MIB):
            pass
    except OperationFailed as refused:
        pytest.skip(f"no volume can be made in {directory}: {refused}")


@pytest.fixture(scope="module")
def disk(volumes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LimitedVolume]:
    """A volume with two files to read; skips where it, or a group to limit it for, is not to be had."""
    assert volumes is None
    if NO_GROUP:
        pytest.skip(NO_GROUP)
    directory = tmp_path_factory.mktemp("disk")
    with LimitedVolume(directory=directory, mount_point=directory / "cache", size_bytes=VOLUME_BYTES) as limited:
        write_file(limited.mount_point / "large", FILE_BYTES)
        write_file(limited.mount_point / "small", SMALL_BYTES)
        yield limited


@pytest.fixture
def group() -> Iterator[ControlGroups]:
    with ControlGroups(id="test") as limits:
        yield limits


@pytest.mark.lab
@pytest.mark.bench
@pytest.mark.parametrize(
    ("bytes_per_second", "iops", "block_bytes"),
    [(20 * MIB, 3000, 64 << 10), (125 * MIB, 300, 64 << 10)],
)
def test_disk_gives_a_group_its_limit_and_no_more(
    disk: LimitedVolume, group: ControlGroups, bytes_per_second: int, iops: int, block_bytes: int
) -> None:
    file = disk.mount_point / "large"
    group.limit_memory(MEMORY_BYTES)
    group.limit_disk(disk, DiskLimits.of_volume(bytes_per_second, iops))
    before = disk.traffic
    requested_bytes = read_bytes_by(group, file, block_bytes)
    after = disk.traffic
    delivered_bytes = after.read_bytes - before.read_bytes
    assert delivered_bytes / SECONDS == pytest.approx(min(bytes_per_second, iops * block_bytes), rel=SLACK)
    assert after.reads - before.reads == pytest.approx(delivered_bytes / block_bytes, rel=SLACK)
    assert delivered_bytes * (1 - SLACK) <= requested_bytes <= delivered_bytes / (1 - MEMORY_BYTES / FILE_BYTES)
    assert group.memory_bytes <= MEMORY_BYTES


@pytest.mark.lab
@pytest.mark.bench
def test_buffered_writes_of_any_process_are_as_slow_as_the_volume(volumes: None, tmp_path: Path) -> None:
    """The page cache takes as much as may be dirty, and then each writer waits for the device."""
    assert volumes is None
    if reason := control_groups.buffered_limit_unavailable():
        pytest.skip(reason)
    rate, seconds, piece = 8 * MIB, 4.0, bytes(64 << 10)
    with LimitedVolume(directory=tmp_path, mount_point=tmp_path / "log", size_bytes=VOLUME_BYTES) as limited:
        with limited_writes(limited, rate), (limited.mount_point / "file").open("wb", buffering=0) as file:
            count, before, ends = 0, limited.traffic, time.monotonic() + seconds
            while time.monotonic() < ends:
                count += file.write(piece)
            device_bytes = limited.traffic.written_bytes - before.written_bytes
        assert device_bytes / seconds == pytest.approx(rate, rel=SLACK)
        assert device_bytes <= count <= device_bytes + 1.5 * control_groups.DIRTY_BYTES
        began = time.monotonic()
        (limited.mount_point / "unlimited").write_bytes(bytes(int(seconds) * rate))
        assert time.monotonic() - began < seconds / 2


@pytest.mark.lab
@pytest.mark.bench
def test_limits_change_and_go(disk: LimitedVolume, group: ControlGroups) -> None:
    group.limit_memory(MEMORY_BYTES)
    speeds = []
    for rate in (20 * MIB, 8 * MIB, None):
        group.limit_disk(disk, DiskLimits(read_bytes_per_second=rate))
        before = disk.traffic
        read_bytes_by(group, disk.mount_point / "large")
        speeds.append((disk.traffic.read_bytes - before.read_bytes) / SECONDS)
    assert speeds[:2] == pytest.approx([20 * MIB, 8 * MIB], rel=SLACK)
    assert speeds[2] > 1.5 * speeds[0]


@pytest.mark.usefixtures("volumes")
def test_volume_does_direct_io_and_is_removed_afterwards(tmp_path: Path) -> None:
    with LimitedVolume(directory=tmp_path, mount_point=tmp_path / "a cache", size_bytes=64 * MIB) as limited:
        device = Path("/sys/block") / limited.device.name
        assert (device / "loop" / "dio").read_text().strip() == "1"
        assert limited.numbers == (device / "dev").read_text().strip()
        assert "noatime" in mounted_in(tmp_path)[0]
        assert 50 * MIB < machine.free_disk_bytes(limited.mount_point) < 64 * MIB
        assert attached_in(tmp_path) == [limited.image]
    assert (mounted_in(tmp_path), attached_in(tmp_path), list(tmp_path.glob("*volume"))) == ([], [], [])


@pytest.mark.usefixtures("volumes")
def test_traffic_is_what_went_over_the_device(tmp_path: Path) -> None:
    with LimitedVolume(directory=tmp_path, mount_point=tmp_path / "cache", size_bytes=64 * MIB) as limited:
        before = limited.traffic
        file = write_file(limited.mount_point / "file", 4 * MIB)
        written = limited.traffic
        assert 4 * MIB <= written.written_bytes - before.written_bytes < 8 * MIB
        assert 1 <= written.writes - before.writes < 1000
        forget(file)
        for _ in range(2):
            assert len(file.read_bytes()) == 4 * MIB
            assert 4 * MIB <= limited.traffic.read_bytes - written.read_bytes < 5 * MIB
        assert 1 <= limited.traffic.reads - written.reads < 1000


def test_traffic_counts_sectors_of_512_bytes(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("   17  3  80  5  29  7  160  11  0  13  17  0  0  0  0  0  0\n")
    assert traffic_of(tmp_path) == Traffic(reads=17, read_bytes=40_960, writes=29, written_bytes=81_920)


@pytest.mark.usefixtures("volumes")
def test_volume_that_cannot_be_created_leaves_nothing_and_says_what_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(OperationFailed, match="mkfs"),
        LimitedVolume(directory=tmp_path, mount_point=tmp_path / "cache", size_bytes=4096),
    ):
        pass
    assert (attached_in(tmp_path), list(tmp_path.glob("*volume"))) == ([], [])


@pytest.mark.usefixtures("volumes")
def test_volume_in_use_goes_out_of_sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume, "BUSY_SECONDS", 0.5)
    with LimitedVolume(directory=tmp_path, mount_point=tmp_path / "cache", size_bytes=64 * MIB) as limited:
        file = (limited.mount_point / "file").open("wb")
    with file:
        assert (mounted_in(tmp_path), list(tmp_path.glob("*volume"))) == ([], [])
    wait_until(lambda: attached_in(tmp_path) == [])


@pytest.mark.usefixtures("volumes")
def test_clean_finds_what_a_killed_run_abandoned_and_nothing_else(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    command = (sys.executable, "-c", HOLDER, str(ours))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "made\n"
        os.kill(holder.pid, signal.SIGKILL)
    with LimitedVolume(directory=theirs, mount_point=theirs / "cache", size_bytes=64 * MIB) as other:
        stranger = ours / "stranger.img"
        stranger.write_bytes(bytes(MIB))
        device = subprocess.run(
            ("losetup", "--find", "--show", str(stranger)), check=True, capture_output=True, text=True
        ).stdout.strip()
        try:
            assert clean(ours) == (ours / "cache.warmbase-lab-volume",)
            assert sorted(attached_in(tmp_path)) == sorted([stranger, other.image])
            assert mounted_in(ours) == []
            assert clean(ours) == ()
        finally:
            subprocess.run(("losetup", "--detach", device), check=True)


@with_group
def test_group_is_removed_afterwards_and_its_processes_are_not(group: ControlGroups) -> None:
    with subprocess.Popen(("sleep", "3600")) as sleeper:
        try:
            with ControlGroups(id="left") as populated:
                move(sleeper, populated)
                assert populated.processes == {sleeper.pid}
                move(sleeper, group)
            assert not any(path.exists() for path in populated.paths)
            assert sleeper.poll() is None
        finally:
            sleeper.kill()


@with_group
def test_group_with_processes_stays_until_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "EMPTY_SECONDS", 0.3)
    group = ControlGroups(id="test")
    with subprocess.Popen(("sleep", "3600")) as sleeper:
        try:
            with group:
                move(sleeper, group)
            assert all(path.exists() for path in group.paths)
            with pytest.raises(OperationFailed, match=str(sleeper.pid)), group:
                pass
        finally:
            sleeper.kill()
    monkeypatch.undo()
    with group:
        assert group.processes == frozenset()
    assert not any(path.exists() for path in group.paths)


@with_group
def test_group_of_a_killed_owner_goes_with_the_next_one_that_is_created(group: ControlGroups) -> None:
    with subprocess.Popen((sys.executable, "-c", OWNER), stdout=subprocess.PIPE, text=True, cwd=PROJECT) as owner:
        assert owner.stdout is not None
        paths = [Path(part) for part in owner.stdout.readline().split()]
        with ControlGroups(id="beside"):
            assert paths
            assert all(path.is_dir() for path in paths)
        owner.kill()
    with ControlGroups(id="next"):
        assert not any(path.exists() for path in paths)
        assert all(path.is_dir() for path in group.paths)


def move(process: subprocess.Popen[bytes], group: ControlGroups) -> None:
    for path in group.paths:
        (path / "cgroup.procs").write_text(str(process.pid))


@with_group
def test_memory_limit_kills_what_needs_more(tmp_path: Path, group: ControlGroups) -> None:
    group.limit_memory(40 * MIB)
    greedy = start(
        Command(
            name="greedy",
            arguments=(sys.executable, "-c", f"bytearray(b'x' * {100 * MIB})"),
            directory=tmp_path,
            output=tmp_path / "out.txt",
            groups=group.paths,
        )
    )
    assert greedy.process.wait(HANG_SECONDS) == -signal.SIGKILL


def fake_proc(directory: Path, mountinfo: str, cgroup: str) -> Path:
    proc = directory / "proc"
    proc.mkdir()
    (proc / "mountinfo").write_text(mountinfo)
    (proc / "cgroup").write_text(cgroup)
    return proc


def v1_mounts(at: Path, root: str = "/") -> str:
    return "".join(
        f"3{n} 31 0:3{n} {root} {at}{'' if at == Path('/proc/sys') else '/' + name} rw - cgroup cgroup rw,{name}\n"
        for n, name in enumerate(("memory", "blkio"))
    )


def fake_group(path: Path, controllers: str, passed_on: str = "", processes: str = "1\n") -> Path:
    """As a v2 group that is not the true root."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("cgroup.controllers", controllers),
        ("cgroup.subtree_control", passed_on),
        ("cgroup.procs", processes),
        ("cgroup.type", "domain"),
    ):
        (path / name).write_text(text)
    return path


def test_groups_are_unavailable_where_directories_cannot_be_written(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, v1_mounts(Path("/proc/sys")), "4:memory:/\n7:blkio:/\n0::/\n")
    assert "the control group could not be made" in str(control_groups.unavailable(proc))


def test_groups_are_unavailable_in_plain_directories(tmp_path: Path) -> None:
    for name in ("memory", "blkio"):
        (tmp_path / name).mkdir()
    proc = fake_proc(tmp_path, v1_mounts(tmp_path), "4:memory:/\n7:blkio:/\n0::/\n")
    assert "holds no control groups" in str(control_groups.unavailable(proc))
    assert not list(tmp_path.glob("*/warmbase-lab-*"))


def test_groups_are_unavailable_without_proc(tmp_path: Path) -> None:
    assert "Linux" in str(control_groups.unavailable(tmp_path))


def test_groups_are_unavailable_where_none_are_mounted(tmp_path: Path) -> None:
    assert "mounted" in str(control_groups.unavailable(fake_proc(tmp_path, "", "0::/\n")))


def test_v1_groups_are_created_below_our_own(tmp_path: Path) -> None:
    (tmp_path / "memory" / "us" / "me").mkdir(parents=True)
    proc = fake_proc(tmp_path, v1_mounts(tmp_path), "4:memory:/us/me\n7:blkio:/\n0::/x\n")
    assert layout_of(proc) == GroupLayout(version=1, memory=tmp_path / "memory/us/me", disk=tmp_path / "blkio")


def test_v1_groups_of_a_container_are_created_where_it_sees_them(tmp_path: Path) -> None:
    """Its mount shows the container's own group as the top, by a path that the host gave it."""
    (tmp_path / "memory" / "inner").mkdir(parents=True)
    mounts = v1_mounts(tmp_path, root="/docker/abc")
    proc = fake_proc(tmp_path, mounts, "4:memory:/docker/abc/inner\n7:blkio:/docker/abc\n")
    assert layout_of(proc) == GroupLayout(version=1, memory=tmp_path / "memory/inner", disk=tmp_path / "blkio")


@pytest.mark.parametrize(
    ("top", "slice_", "parent", "crowded"),
    [
        ("io memory", "io memory", "slice", False),  # the slice passes both on already
        ("io memory", "", "slice", False),  # it has no processes: it can
        ("memory", "", "", False),  # the slice lacks one; the true root may pass on what it has
    ],
)
def test_v2_groups_are_created_below_the_nearest_that_can(
    tmp_path: Path, *, top: str, slice_: str, parent: str, crowded: bool
) -> None:
    root = fake_group(tmp_path / "cg", "io memory pids", top)
    (root / "cgroup.type").unlink()
    fake_group(root / "slice", top, slice_, processes="")
    fake_group(root / "slice" / "session", slice_)
    proc = fake_proc(tmp_path, f"41 31 0:38 / {root} rw - cgroup2 cgroup2 rw\n", "0::/slice/session\n")
    place = root / parent
    assert layout_of(proc) == GroupLayout(version=2, memory=place, disk=place, crowded=crowded)


def test_v2_processes_of_a_container_are_moved_aside(tmp_path: Path) -> None:
    root = fake_group(tmp_path / "cg", "io memory pids", processes="17\n")
    proc = fake_proc(tmp_path, f"41 31 0:38 / {root} rw - cgroup2 cgroup2 rw\n", "0::/\n")
    layout = layout_of(proc)
    assert layout == GroupLayout(version=2, memory=root, disk=root, crowded=True)
    assert isinstance(layout, GroupLayout)
    pass_on_controllers(layout)
    assert (root / "warmbase-lab-aside" / "cgroup.procs").read_text() == "17"
    assert (root / "cgroup.subtree_control").read_text() == "+io +memory"


def test_v2_without_a_controller_names_it(tmp_path: Path) -> None:
    root = fake_group(tmp_path / "cg", "memory pids")
    proc = fake_proc(tmp_path, f"41 31 0:38 / {root} rw - cgroup2 cgroup2 rw\n", "0::/\n")
    assert str(layout_of(proc)).endswith("no controller for io")


def test_v2_limits_are_written_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedVolume, "numbers", "7:3")
    group = ControlGroups(id="x", layout=GroupLayout(version=2, memory=tmp_path, disk=tmp_path))
    (only,) = group.paths
    only.mkdir()
    group.limit_memory(150 * MIB)
    group.limit_disk(
        LimitedVolume(directory=tmp_path, mount_point=tmp_path / "cache", size_bytes=MIB),
        DiskLimits(read_bytes_per_second=125 * MIB, read_iops=3000),
    )
    assert (only / "memory.max").read_text() == "157286400"
    assert (only / "memory.swap.max").read_text() == "0"
    assert (only / "io.max").read_text() == "7:3 rbps=131072000 wbps=max riops=3000 wiops=max"


@pytest.mark.parametrize(
    ("version", "statistics"),
    [
        (1, "cache 1900\nrss 300\nshmem 1500\ntotal_cache 9\ntotal_rss 9\n"),
        (2, "anon 300\nfile 1900\nkernel 50\nshmem 1500\n"),
    ],
)
def test_shared_memory_is_no_page_cache(tmp_path: Path, version: int, statistics: str) -> None:
    group = ControlGroups(
        id="x", layout=GroupLayout(version=version, memory=tmp_path / "memory", disk=tmp_path / "disk")
    )
    group.paths[0].mkdir(parents=True)
    (group.paths[0] / "memory.stat").write_text(statistics)
    assert (group.anonymous_bytes, group.page_cache_bytes) == (1800, 400)


def test_needs_names_everything_that_is_lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.needs(1, 1, tmp_path) == () or machine.cores() < machine.LEAST_CORES
    monkeypatch.setattr(machine, "cores", lambda: 1)
    problems = machine.needs(1 << 60, 1 << 60, tmp_path / "not" / "there" / "yet")
    assert [problem.where for problem in problems] == ["this machine", "this machine", str(tmp_path / "not/there/yet")]
    assert "1 processor core" in problems[0].what
    assert all(problem.why and problem.fix for problem in problems)


def test_idle_is_what_proc_stat_says(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    sampler = IdleCpu(proc=tmp_path)
    assert sampler.fraction() is None
    stat.write_text("cpu  150 0 110 725 115 0 0 0 50 0\n")
    assert sampler.fraction() == 0.4
    assert IdleCpu(proc=tmp_path / "nowhere").fraction() is None


def test_memory_is_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n")
    assert machine.memory(tmp_path) == machine.MachineMemory(total_bytes=2 * MIB, available_bytes=MIB)
    assert machine.memory(tmp_path / "nowhere").available_bytes is None


BURN = (
    "import sys, time\nwhile time.process_time() < 0.6: pass\nprint(time.process_time(), flush=True)\nsys.stdin.read()"
)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("ended", [False, True], ids=["while it lives", "after its end"])
def test_a_childs_processor_time_counts(*, ended: bool) -> None:
    used, began, own = OwnCpu(), time.monotonic(), time.process_time()
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        burnt = float(child.stdout.readline())
        if ended:
            child.communicate()
        seconds = used.cores() * (time.monotonic() - began)
    assert seconds == pytest.approx(burnt + time.process_time() - own, rel=0.15, abs=0.1)
