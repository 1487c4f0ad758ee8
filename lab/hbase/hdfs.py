"""A small HDFS: a NameNode, and DataNodes whose files may lie on a limited volume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.hbase.admin import Admin, AdminCommand
from lab.hbase.cluster import LabCluster
from lab.hbase.configuration import CLIENT_LOGGING, FIRST_TIER, Java, Overlay, logging_file
from lab.hbase.jmx import bean
from lab.machine.paths import HOST, LabPaths, Ports, free_ports
from lab.machine.process import Command, RunningProcess, start
from warmbase.configurations.node_files import hbase_site_xml
from warmbase.emr.cluster_spec import Classification

HEAP_MIB: Final = 128
"""A NameNode or DataNode with a heap of this size takes 180 MB."""
CLIENT_HEAP: Final = "-Xmx512m"
START_SECONDS: Final = 900.0  # judgement: seconds on two idle cores; this ends only what hangs
STOP_SECONDS: Final = 20.0
HDFS_ALONE: Final = "the lab's HDFS does not read the rendered `hdfs-site`; it is as small as this machine"
STATE: Final = "Hadoop:service=NameNode,name=FSNamesystemState"
NAME_NODE: Final = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE: Final = "org.apache.hadoop.hdfs.server.datanode.DataNode"


@contextmanager
def running_hdfs(
    cluster: LabCluster,
    volume: Path,
    hosts: Sequence[str] = (HOST,),
    *,
    emr: Overlay | None = None,
    flags: Sequence[str] = FIRST_TIER,
) -> Iterator[str]:
    """Run an HDFS while the block lasts, its blocks below `volume`; yield its URI.

    It has a DataNode for each host name, and two copies of each block where there are several. All DataNodes listen on
    loopback; the host name is only what they report. As on a cluster, `hdfs` is a superuser. `emr` is what EMR adds,
    which is encryption if the environment encrypts its local disks.
    """
    ports = free_ports()
    properties = (cluster.by_emr if emr is None else emr).laid_over(name_node_properties(cluster.place, ports, hosts))
    _write_site(cluster.place.configuration("namenode"), properties)
    processes: list[RunningProcess] = []
    try:
        formatting = _start(cluster, flags, "namenode", NAME_NODE, "-format", "-nonInteractive", "-force")
        formatting.wait_for_end(START_SECONDS)
        processes.append(_start(cluster, flags, "namenode", NAME_NODE))
        for number, host in enumerate(hosts):
            name = f"datanode-{number}"
            _write_site(
                cluster.place.configuration(name),
                properties | data_node_properties(volume / "hdfs" / name, host, free_ports()),
            )
            processes.append(_start(cluster, flags, name, DATA_NODE))

        def is_complete() -> bool:
            for process in processes:
                process.refuse_end("every DataNode")
            return bean(ports.master_info, STATE).get("NumLiveDataNodes") == len(hosts)

        processes[0].wait_until(is_complete, START_SECONDS, "every DataNode")
        yield properties["fs.defaultFS"]
    finally:
        for process in reversed(processes):
            process.stop(STOP_SECONDS)


def hdfs_client(cluster: LabCluster, *flags: str) -> Admin:
    """Return the process of a client of the cluster's HDFS; it has the configuration of the NameNode."""
    place = cluster.place
    configuration = place.configuration("namenode")
    logging = f"-Dlog4j2.configurationFile={configuration / CLIENT_LOGGING}"
    java = Java(
        software=cluster.software,
        configuration=configuration,
        scratch=place.scratch,
        flags=(CLIENT_HEAP, "-XX:+UseSerialGC", logging, *flags),
    )
    return Admin(AdminCommand(arguments=java.arguments(), directory=place.root, log=place.output("hdfs-client")))


def name_node_properties(place: LabPaths, ports: Ports, hosts: Sequence[str]) -> dict[str, str]:
    """Return the properties of the NameNode, which the DataNodes read too."""
    namenode = f"{HOST}:{ports.master}"
    return {
        "fs.defaultFS": f"hdfs://{namenode}",
        "dfs.replication": "1" if len(hosts) == 1 else "2",
        "dfs.namenode.rpc-address": namenode,
        "dfs.namenode.http-address": f"{HOST}:{ports.master_info}",
        "dfs.namenode.name.dir": str(place.scratch / "names"),
        "hadoop.user.group.static.mapping.overrides": "hdfs=supergroup",
    }


def data_node_properties(directory: Path, host: str, ports: Ports) -> dict[str, str]:
    """Return what one DataNode has beside the properties of the NameNode."""
    data, page, control = ports.servers
    return {
        "dfs.datanode.data.dir": str(directory),
        "dfs.datanode.hostname": host,
        "dfs.datanode.address": f"{HOST}:{data}",
        "dfs.datanode.http.address": f"{HOST}:{page}",
        "dfs.datanode.ipc.address": f"{HOST}:{control}",
    }


def _write_site(directory: Path, properties: dict[str, str]) -> None:
    for pages in ("hdfs", "datanode", "static"):
        # Both servers look for the directories of their web pages, which the jars do not contain.
        (directory / "webapps" / pages).mkdir(parents=True, exist_ok=True)
    for name in ("core-site", "hdfs-site"):
        text = hbase_site_xml([Classification(name="hbase-site", properties=properties)])
        (directory / f"{name}.xml").write_text(text, encoding="utf-8")
    (directory / CLIENT_LOGGING).write_text(logging_file({}, to_file=False), encoding="utf-8")


def _start(cluster: LabCluster, flags: Sequence[str], name: str, *main: str) -> RunningProcess:
    place = cluster.place
    logging = f"-Dlog4j2.configurationFile={place.configuration(name) / CLIENT_LOGGING}"
    java = Java(
        software=cluster.software,
        configuration=place.configuration(name),
        scratch=place.scratch,
        flags=(f"-Xmx{HEAP_MIB}m", "-XX:+UseSerialGC", *flags, logging),
    )
    return start(Command(name=name, arguments=java.arguments(*main), directory=place.root, output=place.output(name)))
