"""The action that mounts volumes, run on a node with real loop devices for disks."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from configurations.bootstrap import script
from tests.bootstrap_actions.node import GIB, INSTANCE, Node, Unavailable

MIB = 1 << 20
ARGUMENTS = ("--cache-volume-gib=1", "--system-volume-gib=2")


@pytest.fixture
def node(core_node: Node) -> Node:
    core_node.write("/action.sh", script("mount-volumes"), mode=0o755)
    return core_node


def attach(node: Node, size_gib: int, *, beyond_bytes: int = 0, formatted: bool = False) -> str:
    try:
        return node.attach(size_gib, beyond_bytes=beyond_bytes, formatted=formatted)
    except Unavailable as reason:
        pytest.skip(str(reason))


def act(node: Node, *arguments: str) -> subprocess.CompletedProcess[str]:
    return node.run("/action.sh", *(arguments or ARGUMENTS))


def source_of(node: Node, target: str) -> str:
    return node.ask("findmnt", "--noheadings", "--output", "SOURCE", "--mountpoint", target)


def state(node: Node) -> str:
    """Everything that a second run could change: mounts, files with their times, file-system ids."""
    mounts = node.ask("findmnt", "--raw", "--output", "TARGET,SOURCE,OPTIONS")
    places = "/etc /usr/local /warmbase -xdev -newer /stubs/lsblk"
    files = node.ask("sh", "-c", f"find {places} -printf '%p %m %T@ %s\\n' 2>/dev/null | sort")
    ids = [node.run("blkid", "-p", device).stdout for device in node.devices]
    return "\n".join([mounts, files, node.read("/etc/fstab"), *ids])


def test_primary_is_left_alone(node: Node) -> None:
    attach(node, 1)
    attach(node, 2)
    node.write(INSTANCE, '{\n  "instanceGroupId": "ig-1",\n  "isMaster": true\n}')
    before = state(node)
    answer = act(node)
    assert answer.returncode == 0
    assert "primary node" in answer.stderr
    assert state(node) == before


def test_without_knowing_the_role_no_disk_is_touched(node: Node) -> None:
    attach(node, 1)
    attach(node, 2)
    (node.root / INSTANCE.lstrip("/")).unlink()
    before = state(node)
    assert act(node).returncode == 1
    assert state(node) == before


@pytest.mark.parametrize("kept", ["cache", "system"])
def test_volumes_are_known_by_size_and_data_survive(node: Node, kept: str) -> None:
    # Attached in both orders: the order of names must not matter.
    sizes_gib = {"cache": 1, "system": 2}
    blank = "system" if kept == "cache" else "cache"
    devices = {kept: attach(node, sizes_gib[kept], formatted=True), blank: attach(node, sizes_gib[blank])}
    (node.root / "mnt1").mkdir()
    node.ask("mount", devices[kept], "/mnt1")
    node.write("/mnt1/precious", "data")
    node.write("/etc/fstab", f"{devices[kept]}\t/mnt1\txfs\tdefaults,relatime,nofail\t0 2\n")

    answer = act(node)

    assert answer.returncode == 0, answer.stderr
    assert node.read("/mnt1/precious") == "data"
    for name, device in devices.items():
        assert source_of(node, f"/warmbase/{name}") == f"{device}[/warmbase-{name}]"
        options = node.ask("findmnt", "-no", "OPTIONS", "--mountpoint", f"/warmbase/{name}")
        assert "noatime" in options.split(",")
    assert node.ask("stat", "-c", "%a", "/warmbase/system") == "1777"
    assert node.ask("stat", "-c", "%a", "/warmbase/cache") == "755"
    assert f"{devices[kept]} /mnt1 xfs defaults,noatime,nofail 0 2\n" in node.read("/etc/fstab")

    before = state(node)
    again = act(node)
    assert again.returncode == 0, again.stderr
    assert state(node) == before


def test_mounts_survive_a_reboot(node: Node) -> None:
    devices = [attach(node, 1, formatted=True), attach(node, 2)]
    before_format = node.ask("blkid", "-p", "-s", "UUID", "-o", "value", devices[0])
    assert act(node).returncode == 0
    assert f"UUID={before_format} /warmbase/volumes/cache" in node.read("/etc/fstab")
    mounted = [source_of(node, "/warmbase/cache"), source_of(node, "/warmbase/system")]

    for target in ("cache", "system", "volumes/cache", "volumes/system"):
        node.ask("umount", f"/warmbase/{target}")
    # Without udev there is no /dev/disk/by-uuid: mount takes the ids from blkid's own list.
    for device in devices:
        node.run("blkid", device)
    node.ask("mount", "--all")

    assert [source_of(node, "/warmbase/cache"), source_of(node, "/warmbase/system")] == mounted
    assert "noatime" in node.ask("findmnt", "-no", "OPTIONS", "--mountpoint", "/warmbase/cache")


@pytest.mark.parametrize(
    ("sizes_gib", "message"),
    [
        ((1, 1, 2), "2 disks of 1 GiB, exactly one is needed"),
        ((1, 3), "0 disks of 2 GiB, exactly one is needed"),
        ((), "0 disks of 1 GiB, exactly one is needed"),
    ],
)
def test_ambiguous_sizes_are_refused_before_anything_is_touched(
    node: Node, sizes_gib: tuple[int, ...], message: str
) -> None:
    devices = [attach(node, size_gib) for size_gib in sizes_gib]
    before = state(node)
    answer = act(node)
    assert answer.returncode == 1
    assert message in answer.stderr
    for device, size_gib in zip(devices, sizes_gib, strict=True):
        assert f"{device} {size_gib} GiB;" in answer.stderr
    assert state(node) == before


@pytest.mark.parametrize("beyond_bytes", [(MIB, 0), (0, MIB)], ids=["store first", "volume first"])
def test_an_instance_store_is_not_taken_for_a_volume_of_as_many_whole_gib(
    node: Node, beyond_bytes: tuple[int, int]
) -> None:
    devices = {beyond: attach(node, 1, beyond_bytes=beyond) for beyond in beyond_bytes}
    attach(node, 2)
    answer = act(node)
    assert answer.returncode == 0, answer.stderr
    assert source_of(node, "/warmbase/cache") == f"{devices[0]}[/warmbase-cache]"
    assert node.run("blkid", "-p", devices[MIB]).returncode == 2  # as blank as it was


def test_an_instance_store_is_known_by_its_whole_gib(node: Node) -> None:
    store = attach(node, 1, beyond_bytes=MIB)
    attach(node, 2)
    answer = act(node)
    assert answer.returncode == 0, answer.stderr
    assert source_of(node, "/warmbase/cache") == f"{store}[/warmbase-cache]"


def test_the_root_disk_is_never_a_data_volume(node: Node) -> None:
    root, cache = attach(node, 1, formatted=True), attach(node, 1)
    attach(node, 2)
    number = node.ask("lsblk", "--noheadings", "--output", "MAJ:MIN", root)
    stub = (
        f'#!/bin/sh\ncase "$*" in *"--mountpoint /") echo {number} ;; *) exec {shutil.which("findmnt")} "$@" ;; esac\n'
    )
    node.write("/stubs/findmnt", stub, mode=0o755)
    answer = act(node)
    assert answer.returncode == 0, answer.stderr
    assert source_of(node, "/warmbase/cache") == f"{cache}[/warmbase-cache]"
    refused = act(node, "--cache-volume-gib=3", *ARGUMENTS[1:])
    assert f"0 disks of 3 GiB, exactly one is needed; seen: {root} (the root disk); {cache} 1 GiB" in refused.stderr


@pytest.mark.parametrize("what", ["unknown data", "swap"])
def test_what_is_neither_blank_nor_a_filesystem_is_never_formatted(node: Node, what: str) -> None:
    device = attach(node, 1)
    attach(node, 2)
    if what == "swap":
        node.ask("mkswap", device)
    else:
        with Path(device).open("r+b") as disk:
            disk.seek(512 * 1024)
            disk.write(b"precious")
    with Path(device).open("rb") as disk:
        before = disk.read(1 << 20)
    answer = act(node)
    assert answer.returncode == 1
    assert f"{device} is neither blank nor a filesystem (found: {what})" in answer.stderr
    with Path(device).open("rb") as disk:
        assert disk.read(1 << 20) == before


# Answers from files: the list of disks, or the tree of the disk named last.
LSBLK_OF_TREES = """#!/bin/sh
for last; do :; done
case $last in /dev/*) cat "/trees$last" ;; *) cat /disks ;; esac
"""

# What lsblk shows below a disk of 20 GiB: kernel name, path, bytes, parent. "LEAF" stands for a real device.
TREES = {
    "LUKS": f"nvme1n1 /dev/nvme1n1 {20 * GIB} \ndm-0 LEAF {20 * GIB - (16 << 20)} nvme1n1\n",
    "partitions, the first for /emr": (
        f"nvme1n1 /dev/nvme1n1 {20 * GIB} \nnvme1n1p1 /dev/null {5 * GIB} nvme1n1\nnvme1n1p2 LEAF {15 * GIB} nvme1n1\n"
    ),
    "LUKS on the second partition": (
        f"nvme1n1 /dev/nvme1n1 {20 * GIB} \nnvme1n1p1 /dev/nvme1n1p1 {5 * GIB} nvme1n1\n"
        f"dm-0 /dev/null {5 * GIB - (16 << 20)} nvme1n1p1\n"
        f"nvme1n1p2 /dev/nvme1n1p2 {15 * GIB} nvme1n1\ndm-1 LEAF {15 * GIB - (16 << 20)} nvme1n1p2\n"
    ),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_a_stacked_filesystem_is_found_by_the_size_of_its_disk(node: Node, tree: str) -> None:
    leaf, system = attach(node, 1, formatted=True), attach(node, 2, formatted=True)
    node.write("/disks", f"/dev/nvme1n1 disk {20 * GIB}\n{system} disk {2 * GIB}\n")
    node.write("/trees/dev/nvme1n1", tree.replace("LEAF", leaf))
    node.write(f"/trees{system}", f"{Path(system).name} {system} {2 * GIB} \n")
    stub = '#!/bin/sh\nfor last; do :; done\ncase $last in /dev/*) cat "/trees$last" ;; *) cat /disks ;; esac\n'
    node.write("/stubs/lsblk", stub, mode=0o755)
    answer = act(node, "--cache-volume-gib=20", *ARGUMENTS[1:])
    assert answer.returncode == 0, answer.stderr
    assert source_of(node, "/warmbase/cache") == f"{leaf}[/warmbase-cache]"


def test_a_signature_behind_the_first_mib_is_enough_not_to_format(node: Node) -> None:
    device = attach(node, 1)
    attach(node, 2)
    with Path(device).open("r+b") as disk:  # an md member, version 0.90: its superblock is 64 KiB from the end
        disk.seek(GIB - (64 << 10))
        disk.write(struct.pack("<III", 0xA92B4EFC, 0, 90))
    answer = act(node)
    assert answer.returncode == 1
    assert f"{device} is neither blank nor a filesystem (found: linux_raid_member)" in answer.stderr


def test_our_own_bind_mount_is_not_taken_for_the_volume(node: Node) -> None:
    attach(node, 1)
    attach(node, 2)
    assert act(node).returncode == 0
    before = state(node)
    node.ask("umount", "/warmbase/volumes/cache")  # the bind mount stays
    answer = act(node)
    assert answer.returncode == 0, answer.stderr
    assert sorted(state(node).splitlines()) == sorted(before.splitlines())


def test_an_unreadable_disk_is_never_formatted(node: Node) -> None:
    device = attach(node, 1)
    attach(node, 2)
    node.write("/stubs/head", f'#!/bin/sh\necho "head: cannot open {device}" >&2\nexit 1\n', mode=0o755)
    answer = act(node)
    assert answer.returncode == 1
    assert f"cannot read {device}" in answer.stderr
    assert node.run("blkid", "-p", device).returncode == 2


def test_user_hadoop_goes_on_as_root(node: Node) -> None:
    node.write("/stubs/sudo", '#!/bin/sh\necho "$@" >&2\n', mode=0o755)
    answer = node.run("setpriv", "--reuid=65534", "--clear-groups", "/action.sh", *ARGUMENTS)
    assert answer.stderr == f"-- bash /action.sh {' '.join(ARGUMENTS)}\n"


def test_a_failing_command_is_named_with_its_line(node: Node) -> None:
    attach(node, 1)
    attach(node, 2)
    node.write("/stubs/mkfs.xfs", "#!/bin/sh\nexit 1\n", mode=0o755)
    answer = act(node)
    assert answer.returncode == 1
    line = next(i for i, text in enumerate(node.read("/action.sh").splitlines(), 1) if "mkfs.xfs -q" in text)
    assert f"failed at line {line}: mkfs.xfs -q" in answer.stderr
