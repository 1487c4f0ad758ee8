"""HDFS with the keys that EMR adds with local-disk encryption: what the network sees, and reads past the DataNode."""

from __future__ import annotations

import shutil
import socket
import stat
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from lab.hbase.cluster import LabCluster
from lab.hbase.configuration import HDFS_ENCRYPTION, NOTHING_VARIED, Overlay, varied
from lab.hbase.hdfs import hdfs_client, running_hdfs
from lab.hbase.laboratory import small_of
from lab.hbase.software import problems
from lab.hbase.store import Settings
from lab.machine.paths import LabPaths, free_ports, home
from lab.scaled_plan import Small
from warmbase.configurations.launch import launch_of
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import GIB, MIB

SMALL = Small(memory_bytes=GIB, data_bytes=24 * MIB)
PROJECT = Path(__file__).parents[3]
EDIT_BYTES = 1024
SO_RCVBUFFORCE = 33  # socket(7), Linux
BUFFER_BYTES = 64 * MIB
NATIVE = "nativelib/Linux-amd64/libhadoop.so"
"""Hadoop's own library in a jar of Trino, as `warmbase lab run --scenario trino-cache` installs it."""

pytestmark = pytest.mark.lab


@pytest.fixture
def cluster(tmp_path: Path) -> LabCluster:
    """Return an HBase that is not started: only its HDFS runs."""
    if reasons := list(problems()):
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    environment = read_environment("dev")
    of = small_of(launch_of(environment, environment.active), SMALL, Settings())
    place = LabPaths(root=tmp_path, ports=free_ports())
    place.make()
    return LabCluster(software=of.software, place=place, launch=of.launch, miniature=of.miniature)


@contextmanager
def overheard(*words: bytes) -> Iterator[set[bytes]]:
    """Record which of the words are in packets on the loopback interface."""
    try:
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(0x0003))
    except PermissionError as error:
        pytest.skip(f"no packets can be recorded here: {error}")
    heard: set[bytes] = set()
    ended = threading.Event()

    def listen() -> None:
        while not ended.is_set():
            with suppress(TimeoutError):
                packet = listener.recv(1 << 17)
                heard.update(word for word in words if word in packet)

    with listener:
        listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        listener.bind(("lo", 0))
        listener.settimeout(0.1)
        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield heard
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(("local_disks", "readable"), [(True, False), (False, True)])
def test_blocks_are_encrypted_with_local_disks_and_requests_never(
    cluster: LabCluster, *, local_disks: bool, readable: bool
) -> None:
    """Without Kerberos, the privacy of RPCs has no effect on a client's requests to the NameNode."""
    environment = replace(cluster.launch.environment, encrypt_local_disks=local_disks)
    cluster = replace(cluster, launch=replace(cluster.launch, environment=environment))
    # The bytes of a file follow from its name, and no other lab on this machine may send the same.
    name = f"readable-{uuid4()}"
    with running_hdfs(cluster, cluster.place.volumes) as uri, hdfs_client(cluster) as client:

        def write(*, fan_out: bool) -> None:
            client.hdfs_write(f"{uri}/{name}", bytes_=EDIT_BYTES, window=1.0, copies=1, fan_out=fan_out)

        write(fan_out=False)
        block = next(file for file in cluster.place.volumes.rglob("blk_*") if file.suffix != ".meta")
        edit = block.read_bytes()[: EDIT_BYTES // 2]
        expected = {name.encode(), edit} if readable else {name.encode()}
        for step in (
            partial(write, fan_out=False),
            partial(write, fan_out=True),
            partial(client.hdfs_read, f"{uri}/{name}", bytes_=EDIT_BYTES, window=1.0),
        ):
            with overheard(name.encode(), edit) as heard:
                step()
            assert heard == expected


def test_without_block_tokens_nothing_can_be_written(cluster: LabCluster) -> None:
    keys = HDFS_ENCRYPTION | varied({"dfs.block.access.token.enable": None}, "the page of EMR does not name it")
    with (
        running_hdfs(cluster, cluster.place.volumes, emr=keys) as uri,
        hdfs_client(cluster) as client,
        pytest.raises(OperationFailed),
    ):
        client.hdfs_write(f"{uri}/log", bytes_=EDIT_BYTES, window=1.0, copies=1, fan_out=False)


@pytest.mark.parametrize("emr", [HDFS_ENCRYPTION, NOTHING_VARIED], ids=["encrypted", "plain"])
def test_a_client_reads_past_the_data_node(cluster: LabCluster, emr: Overlay) -> None:
    """The DataNode hands an open file over the socket to who has a block token; nothing is encrypted on that way."""
    jar = next(home().glob("trino/server-*/plugin/hive/hdfs/io.trino.hadoop_hadoop-apache-*.jar"), None)
    if jar is None:
        pytest.skip("Hadoop's native library is in the jars of `warmbase lab run --scenario trino-cache`")
    if any(parent.stat().st_mode & stat.S_IWOTH for parent in home().absolute().parents):
        pytest.skip(f"HDFS refuses a socket below a directory that everyone may write to, and {home()} is below one")
    directory = Path(tempfile.mkdtemp(dir=home()))
    try:
        (directory / "libhadoop.so").write_bytes(zipfile.ZipFile(jar).read(NATIVE))
        flags, path = (f"-Djava.library.path={directory}",), str(directory / "socket")
        keys = emr | varied({"dfs.client.read.shortcircuit": "true", "dfs.domain.socket.path": path}, "as rendered")
        with (
            running_hdfs(cluster, cluster.place.volumes, emr=keys, flags=flags) as uri,
            hdfs_client(cluster, *flags) as client,
        ):
            file = f"{uri}/log"
            client.hdfs_write(file, bytes_=EDIT_BYTES, window=1.0, copies=1, fan_out=False)
            past = client.hdfs_read(file, bytes_=EDIT_BYTES, window=1.0, socket=path)
            through = client.hdfs_read(file, bytes_=EDIT_BYTES, window=1.0)
    finally:
        shutil.rmtree(directory)
    assert past["short_circuit"] == past["steps"] * EDIT_BYTES
    assert through["short_circuit"] == 0
