"""HBase with the rendered security settings and a real KDC: who is served, who is refused, and that our steps work."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.cluster import DAEMON, REALM, Kdc, LabServer, jar_paths
from lab.hbase.configuration import FIRST_TIER, Java
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.laboratory import laboratory, small_of
from lab.hbase.software import problems
from lab.hbase.software.jars import KDC, SHELL
from lab.hbase.store import Settings
from lab.machine.paths import HOST
from lab.scaled_plan import Small
from tests.patience import HANG_SECONDS
from warmbase.configurations.client_file import client_site_xml
from warmbase.configurations.launch import launch_of
from warmbase.environments.environment import Kerberos
from warmbase.environments.reader import read_environment
from warmbase.ground.units import GIB, MIB
from warmbase.operations.aws.node_command import script
from warmbase.operations.on_node import probe_hbase

SMALL = Small(memory_bytes=2 * GIB, data_bytes=16 * MIB)
HERE = Path(__file__).parent
SIMPLE, WITH_KERBEROS = b"HBas\x00\x50", b"HBas\x00\x51"
FLAGS = ("-Xmx256m", "-XX:+UseSerialGC", *FIRST_TIER)

pytestmark = pytest.mark.lab


class SecuredNode(Struct, frozen=True, kw_only=True, dict=True):
    """A primary node of the lab's HBase: programs by EMR's names, each with the node's or a client's configuration."""

    directory: Path
    kdc: Kdc
    info_port: int
    rpc_port: int

    def run(self, *command: str, text: str = "", site: str = "node") -> subprocess.CompletedProcess[str]:
        """Run a program of the node; `site` is the configuration with which HBase's client connects."""
        variables = {"PATH": f"{self.directory}:{os.environ['PATH']}", "SITE": site, "HOME": str(self.directory)}
        return subprocess.run(
            command, env=variables, input=text, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
        )

    def shell(self, commands: str, site: str = "node") -> str:
        """Return what the commands print."""
        process = self.run("hbase", "shell", text=commands, site=site)
        assert process.returncode == 0, process.stderr[-2000:]
        return process.stdout

    def step(self, name: str) -> Any:
        """Return the answer of the script of that name, run as EMR's command-runner.jar runs it."""
        text = script(name).replace("/etc/hbase.keytab", str(self.kdc.keytab))
        text = text.replace("/bin/bash /usr/lib/hbase/bin/disable_all_tables.sh", "hbase disable_all_tables")
        process = self.run("bash", "-c", text, name, "s3://logs/answer")
        assert process.returncode == 0, process.stderr
        return json.loads((self.directory / "answer").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    if reasons := problems():
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    directory = tmp_path_factory.mktemp("kerberos")
    reference = "{{resolve:secretsmanager:hbase/kdc}}"
    environment = replace(read_environment("dev"), kerberos=Kerberos(realm=REALM, admin_password=reference))
    of = small_of(launch_of(environment, environment.active), SMALL, Settings())
    with laboratory(of, directory / "lab", lambda _: None, ("alice", "bob")) as bench:
        bench.cluster.start_server(LabServer())
        bench.cluster.wait_for_master()
        assert bench.cluster.kdc is not None
        yield secured_node(directory, bench.cluster, bench.cluster.kdc)


def secured_node(directory: Path, cluster: Any, realm: Kdc) -> SecuredNode:
    """Write the programs of a node and the client's configuration below the directory."""
    place, programs = cluster.place, directory / "programs"
    programs.mkdir()
    plain = place.configuration("client")
    node_site, client_site = place.configuration("master"), place.configuration("kerberos-client")
    client_site.mkdir()
    own = ET.fromstring(client_site_xml(cluster.launch))  # noqa: S314 - our own texts
    own.extend(ET.parse(plain / "hbase-site.xml").getroot())  # noqa: S314
    ET.ElementTree(own).write(client_site / "hbase-site.xml")
    (client_site / "core-site.xml").write_text(CORE_SITE, encoding="utf-8")
    ruby = jar_paths(SHELL)
    logging = f"-Dlog4j2.configurationFile={plain}/client.log4j2.properties"

    def java(site: Path) -> str:
        software = replace(cluster.software, class_path=(*ruby, *cluster.software.class_path))
        flags = (*FLAGS, logging, *realm.flags)
        return shlex.join(Java(software=software, configuration=site, scratch=place.scratch, flags=flags).arguments())

    kinit = shlex.join(
        [
            str(cluster.software.java),
            *FLAGS,
            "-cp",
            ":".join((*ruby, *jar_paths(KDC))),
            "org.jruby.Main",
            str(HERE / "kinit.rb"),
        ]
    )
    texts = {
        "hbase": HBASE.format(
            node=java(node_site), client=java(client_site), plain=java(plain), shell=HERE / "kerberos_shell.rb"
        ),
        "kinit": f'#!/bin/sh\nKRB5_DIRECTORY={realm.configuration.parent} exec {kinit} "$@"\n',
        "hostname": "#!/bin/sh\necho localhost\n",
        "sudo": '#!/bin/sh\nexec "$@"\n',
        "aws": f"#!/bin/sh\nexec cat >{programs}/answer\n",
    }
    for name, text in texts.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    return SecuredNode(
        directory=programs, kdc=realm, info_port=place.ports.servers_info[0], rpc_port=place.ports.servers[0]
    )


HBASE = """#!/bin/sh
# What `bin/hbase` does with these commands, with the configuration of the node or that of a client without Kerberos.
case $SITE in plain) java='{plain}' ;; client) java='{client}' ;; *) java='{node}' ;; esac
case $1 in
  shell) exec $java org.jruby.Main {shell} ;;
  disable_all_tables) echo disable_all | $java org.jruby.Main {shell}; exit ;;
  zkcli) shift; set -- org.apache.hadoop.hbase.zookeeper.ZKMainServer "$@" ;;
esac
exec $java "$@"
"""
CORE_SITE = """<configuration>
  <property><name>hadoop.security.authentication</name><value>kerberos</value></property>
</configuration>
"""
USERS = """
as('{daemon}', '{keytab}') {{ eventually {{ available 'hbase:acl' }} }}
as('{daemon}', '{keytab}') {{ create 'owned'; grant 'alice', 'RW', 'owned' }}
as('alice@{realm}', '{keytab}') {{ eventually {{ put 'owned', 'row', 'value' }}; get 'owned', 'row' }}
as('bob@{realm}', '{keytab}') {{ refused {{ get 'owned', 'row' }} }}
as('bob@{realm}', '{keytab}') {{ refused {{ put 'owned', 'row', 'other' }} }}
as('alice@{realm}', '{keytab}') {{ refused {{ disable_all }} }}
as('alice@{realm}', '{keytab}') {{ refused {{ create 'mine' }} }}
as('alice@{realm}', '{keytab}') {{ get 'owned', 'row' }}
"""


def test_a_ticket_and_a_grant_are_both_needed(node: SecuredNode) -> None:
    """The client has the file that is rendered for applications, and the KDC's address."""
    commands = USERS.format(daemon=DAEMON, keytab=node.kdc.keytab, realm=REALM)
    printed = node.shell(commands, site="client").splitlines()
    assert [line for line in printed if "=" in line and "refused" not in line] == ["row=value", "row=value"]
    refusals = [line for line in printed if line.startswith(("refused", "served"))]
    assert len(refusals) == 4
    assert all("AccessDeniedException" in line for line in refusals), refusals


def test_a_client_without_kerberos_is_refused(node: SecuredNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own error says only that the connection ended; the server's bytes say why."""
    assert node.shell("refused { list }", site="plain").startswith("refused: ")
    assert b"Authentication is required" in (answer_to(node.rpc_port, SIMPLE) or b"")
    assert answer_to(node.rpc_port, WITH_KERBEROS, seconds=5.0) is None
    monkeypatch.setattr(probe_hbase, "REFUSAL_SECONDS", HANG_SECONDS)
    assert probe_hbase.stranger(f"{HOST}:{node.rpc_port}") == "refused"


def answer_to(port: int, preamble: bytes, seconds: float = HANG_SECONDS) -> bytes | None:
    """Return what a RegionServer sends before it ends the connection; None where it waits for more, so long."""
    received = b""
    with socket.create_connection((HOST, port), timeout=seconds) as connection:
        connection.sendall(preamble)
        with suppress(TimeoutError):
            while part := connection.recv(4096):
                received += part
            return received
    return None


def test_jmx_needs_no_ticket(node: SecuredNode) -> None:
    assert "l1CacheHitCount" in bean(node.info_port, SERVER_BEAN)


def test_the_steps_of_a_teardown_work_with_a_ticket(node: SecuredNode) -> None:
    assert node.step("flush-meta") == {"flushed": ["hbase:meta", "hbase:namespace"]}
    assert node.step("disable-tables") == {"tables": ["owned"], "enabled": []}
