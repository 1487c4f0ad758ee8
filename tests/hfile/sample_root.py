"""An HBase root of real store files in the lab's S3 server, on which readers of store files are measured.

HBase's own writer makes one file of each shape. The root's files are copies of these, and two large ones. The JVMs have
the flags with which they start fastest here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.configuration import CLIENT_LOGGING, FIRST_TIER, Java, logging_file, master_overlay
from lab.hbase.software import Software, software
from lab.hbase.store import BUCKET, Program, Settings, StoreClient, store
from lab.machine.paths import HOST, LabPaths, free_ports
from lab.machine.process import Command, start
from warmbase.configurations.node_files import hbase_site_xml
from warmbase.emr.cluster_spec import Classification
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB
from warmbase.hfile.layout import FileEntry
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.root_bucket import S3Root
from warmbase.sizing.modes import S3_PLAIN

RELEASE: Final = "emr-7.10.0"  # of HBase 2.6.2
PREFIX: Final = "hbase"
FILES: Final = 200
REGIONS: Final = 10
SHAPES: Final = (
    "cells=2500 valuebytes=1000 codec=NONE encoding=NONE",
    "cells=7000 valuebytes=1000 codec=NONE encoding=FAST_DIFF",
    "cells=40000 valuebytes=100 codec=NONE encoding=FAST_DIFF bloom=ROWCOL",
    "cells=5000 valuebytes=1000 codec=SNAPPY encoding=FAST_DIFF",
    "cells=9000 valuebytes=1000 codec=ZSTD encoding=FAST_DIFF",
    "cells=6000 valuebytes=1000 codec=GZ encoding=NONE blocksize=16384",
)
"""The shapes of which the root's files are copies, of 2 to 8 MiB each."""
LARGE: Final = (
    "cells=270000 valuebytes=1000 codec=NONE encoding=NONE",
    "cells=480000 valuebytes=1000 codec=ZSTD encoding=FAST_DIFF compressible=0",
)
LEAST_LARGE_BYTES: Final = 256 * MIB
JVM_FLAGS: Final = ("-Xmx512m", "-XX:+UseSerialGC", *FIRST_TIER)
SAMPLES: Final = "warmbase.lab.SampleFiles"
PRINTED_CHARACTERS: Final = 2000  # of the output of a JVM that failed
JAVA_SECONDS: Final = 600.0  # judgement: a pass takes half a minute on an idle machine


class SampleRoot(Struct, frozen=True):
    """A root, the store that holds it, and the software that reads it besides warmbase."""

    place: LabPaths
    software: Software
    store: StoreClient
    root: S3Root

    def url(self, stored: FileEntry) -> str:
        """Return the file's S3A address."""
        return f"s3a://{BUCKET}/{PREFIX}/{stored.path}"

    def java(self, name: str, *main: str) -> str:
        """Run a JVM to its end and return its output. Raises OperationFailed where it fails or takes too long."""
        return _run(self.place, self.software, name, main)


@contextmanager
def sample_root(directory: Path, settings: Settings, say: Callable[[str], None]) -> Iterator[SampleRoot]:
    """Yield a root that is read under these settings; the store ends with the block."""
    place = LabPaths(root=directory, ports=free_ports())
    place.make()
    programs = software(releases()[RELEASE])
    _configure(place)
    with store(place, Program(java=programs.java, class_path=programs.store_class_path)) as running:
        _fill(place, programs, say)
        running.set(settings)
        yield SampleRoot(place, programs, running, S3Root(_aws(running.port), BUCKET, PREFIX))


def _aws(port: int) -> Aws:
    return Aws(
        {
            "AWS_ACCESS_KEY_ID": "lab",
            "AWS_SECRET_ACCESS_KEY": "lab-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        }
    )


def _configure(place: LabPaths) -> None:
    """Write the configuration that tells the JVMs where the store is."""
    everything = master_overlay(place, S3_PLAIN).laid_over({})
    properties = {
        key: value for key, value in everything.items() if key.startswith(("fs.", "hbase.io.", "hbase.rootdir"))
    }
    directory = place.configuration("client")
    directory.mkdir(parents=True)
    site = hbase_site_xml([Classification(name="hbase-site", properties=properties)])
    (directory / "hbase-site.xml").write_text(site, encoding="utf-8")
    (directory / CLIENT_LOGGING).write_text(logging_file({}, to_file=False), encoding="utf-8")


def _fill(place: LabPaths, programs: Software, say: Callable[[str], None]) -> None:
    """Write a file of each shape and upload copies, past the proxy to the server itself."""
    samples = [(place.scratch / f"sample-{number}", shape) for number, shape in enumerate((*SHAPES, *LARGE))]
    listed = place.scratch / "samples"
    listed.write_text("".join(f"{file} {shape}\n" for file, shape in samples), encoding="utf-8")
    began = time.monotonic()
    _run(place, programs, "samples", (SAMPLES, "write-all", str(listed)))
    say(f"{len(samples)} files written in {time.monotonic() - began:.0f} s")
    small = [file for file, _ in samples[: len(SHAPES)]]
    copies = [small[number % len(small)] for number in range(FILES)] + [file for file, _ in samples[len(SHAPES) :]]
    s3 = _aws(place.ports.store).s3
    for number, file in enumerate(copies):
        region, name = f"{number % REGIONS:032x}", f"{number + 1:032x}"
        s3.upload_file(str(file), BUCKET, f"{PREFIX}/data/default/bench/{region}/f/{name}")
    say(f"{len(copies)} files stored in {time.monotonic() - began:.0f} s")
    for file, _ in samples:
        file.unlink()


def _run(place: LabPaths, programs: Software, name: str, main: Sequence[str]) -> str:
    configuration, output = place.configuration("client"), place.output(name)
    flags = (*JVM_FLAGS, f"-Dlog4j2.configurationFile={configuration / CLIENT_LOGGING}")
    java = Java(software=programs, configuration=configuration, scratch=place.scratch, flags=flags)
    running = start(Command(name=name, arguments=java.arguments(*main), directory=place.root, output=output))
    try:
        running.wait_for_end(JAVA_SECONDS)
    finally:
        running.stop(0)
    printed = output.read_text(encoding="utf-8", errors="replace")
    if running.process.returncode:
        raise OperationFailed.of(
            where=name,
            what=f"ended with {running.process.returncode}",
            why=printed[-PRINTED_CHARACTERS:],
            fix=f"read {output}",
        )
    return printed
