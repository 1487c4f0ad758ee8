"""Writes the store files that the reader is tested with: `python -m tests.hfile.make_store_files DIRECTORY`.

HBase's own writer makes them, and its HFilePrettyPrinter the text beside each. It takes the lab's software
(`warmbase lab setup`) and some 10 seconds, and gives the same bytes each time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final

from lab.hbase.configuration import FIRST_TIER, Java, logging_file
from lab.hbase.software import software
from warmbase.facts.releases import releases

RELEASE: Final = "emr-7.10.0"  # of HBase 2.6.2
MAIN: Final = "warmbase.lab.SampleFiles"
FLAGS: Final = ("-Xmx512m", "-XX:+UseSerialGC", *FIRST_TIER)
QUIET: Final = {"logger.codecs.name": "org.apache.hadoop.hbase.io.compress", "logger.codecs.level": "ERROR"}
"""It warns that codecs were configured again, which is meant."""
JAVA_SECONDS: Final = 300.0  # judgement: it takes 5 s on an idle machine

CODECS: Final = ("NONE", "GZ", "SNAPPY", "LZ4", "ZSTD")
ENCODINGS: Final = ("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1")
MATRIX: Final = "columns=3 cells=540 valuebytes=60 blocksize=2048"
"""Some 60 KiB in some 30 blocks, under each codec and encoding."""
TREE: Final = "cells=400 valuebytes=40 blocksize=512 indexentries=2"
"""Some 80 blocks, and as many levels above them as small index blocks make."""
BLOOM: Final = "valuebytes=2 compressible=1 codec=GZ blocksize=16384"
SPECIAL: Final[Mapping[str, str]] = {
    "blocks-of-1-kib.hfile": "cells=200 blocksize=1024",
    "blocks-of-8-kib.hfile": "cells=600 blocksize=8192 encoding=FAST_DIFF codec=SNAPPY",
    "blocks-of-64-kib.hfile": "cells=2500 valuebytes=200 blocksize=65536 compressible=0.95 codec=ZSTD columns=10",
    "blocks-of-512-kib.hfile": "cells=700 valuebytes=2000 blocksize=524288 compressible=0.99 codec=LZ4",
    "cells-of-10-bytes.hfile": "cells=1000 valuebytes=10 blocksize=2048",
    "cells-of-1-kib.hfile": "cells=60 valuebytes=1024 blocksize=4096",
    "cells-of-20-kib.hfile": "cells=6 valuebytes=20480 blocksize=8192",
    "cells-of-20-kib-snappy.hfile": "cells=24 valuebytes=20480 blocksize=8192 compressible=0.9 codec=SNAPPY",
    "one-cell.hfile": "cells=1",
    "no-cells.hfile": "cells=0",
    "no-cells-zstd.hfile": "cells=0 codec=ZSTD encoding=DIFF",
    "one-wide-row.hfile": "cells=400 columns=400 blocksize=2048 bloom=ROWCOL",
    "two-index-levels.hfile": f"{TREE} indexblock=1024",
    "three-index-levels.hfile": f"{TREE} indexblock=256",
    "four-index-levels.hfile": f"{TREE} indexblock=128",
    "three-index-levels-gz-fast-diff.hfile": f"{TREE} indexblock=256 codec=GZ encoding=FAST_DIFF",
    "three-index-levels-zstd.hfile": f"{TREE} indexblock=256 codec=ZSTD",
    # HBase has the name of this encoding and no code for it: the index is lost, and HBase cannot open the file.
    "prefix-tree-index.hfile": "cells=100 blocksize=2048 indexencoding=PREFIX_TREE",
    "bloom-none.hfile": "cells=300 blocksize=4096 bloom=NONE",
    "bloom-row-col.hfile": f"cells=600 columns=4 bloom=ROWCOL {BLOOM}",
    "bloom-row-prefix.hfile": f"cells=600 columns=4 bloom=ROWPREFIX_FIXED_LENGTH {BLOOM}",
    "several-bloom-chunks.hfile": f"cells=3000 bloomblock=512 {BLOOM}",
    "several-bloom-chunks-snappy.hfile": f"cells=3000 bloomblock=512 {BLOOM} codec=SNAPPY",
    "several-bloom-chunks-row-col.hfile": f"cells=3000 columns=5 bloom=ROWCOL bloomblock=512 {BLOOM}",
    "delete-family-bloom.hfile": "cells=300 columns=3 deletes=40 blocksize=4096",
    "delete-family-bloom-only.hfile": "cells=300 columns=3 deletes=40 blocksize=4096 bloom=NONE codec=LZ4",
    "delete-family-row-col.hfile": "cells=300 columns=3 deletes=40 blocksize=4096 bloom=ROWCOL",
    "checksum-crc32.hfile": "cells=300 blocksize=4096 checksum=CRC32",
    "checksum-null.hfile": "cells=300 blocksize=4096 checksum=NULL",
    "checksum-of-512-bytes.hfile": "cells=300 blocksize=4096 bytesperchecksum=512",
    "tags.hfile": "cells=300 blocksize=4096 tags=1",
    "tags-gz-fast-diff.hfile": "cells=300 blocksize=4096 tags=1 codec=GZ encoding=FAST_DIFF",
    "encrypted.hfile": "cells=300 blocksize=4096 encrypted=1",
    "encrypted-snappy-diff.hfile": "cells=300 blocksize=4096 encrypted=1 codec=SNAPPY encoding=DIFF",
    "5cb6fb54b9c64a85a2d58fa0ca5a5b2e_SeqId_7_": "cells=300 blocksize=4096 bulk=1",
}
SMALL_BUFFERS: Final = tuple(f"-Dhbase.io.compress.{codec}.buffersize=8192" for codec in ("snappy", "lz4", "zstd"))
"""With these a block is several chunks; a buffer is 256 KiB otherwise."""
SEVERAL_CHUNKS: Final[Mapping[str, str]] = {
    f"{codec.lower()}-several-chunks.hfile": f"cells=3000 blocksize=65536 compressible=0.9 codec={codec}"
    for codec in ("SNAPPY", "LZ4", "ZSTD")
}
STREAMED: Final = ("-Dhbase.io.compress.zstd.codec=warmbase.lab.StreamedZstd",)
STREAMED_ZSTD: Final[Mapping[str, str]] = {
    f"streamed-zstd-{encoding}.hfile".lower().replace("_", "-"): f"{MATRIX} codec=ZSTD encoding={encoding}"
    for encoding in ("NONE", "FAST_DIFF")
}


def main(directory: Path) -> None:
    """Makes every file."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warmbase-hfile-") as scratch:
        java = command(Path(scratch))
        make(java, directory, {**matrix(), **SPECIAL})
        make([*java, *SMALL_BUFFERS], directory, SEVERAL_CHUNKS)
        make([*java, *STREAMED], directory, STREAMED_ZSTD)


def matrix() -> dict[str, str]:
    """Return a file for each codec and encoding."""
    return {
        f"{codec}-{encoding}.hfile".lower().replace("_", "-"): f"{MATRIX} codec={codec} encoding={encoding}"
        for codec, encoding in product(CODECS, ENCODINGS)
    }


def command(scratch: Path) -> Sequence[str]:
    """How the lab's Java is run, up to its arguments."""
    logging = scratch / "log4j2.properties"
    logging.write_text(logging_file(QUIET, to_file=False), encoding="utf-8")
    programs = software(releases()[RELEASE])
    flags = (*FLAGS, f"-Dlog4j2.configurationFile={logging}")
    return Java(software=programs, configuration=scratch, scratch=scratch, flags=flags).arguments(MAIN)


def make(java: Sequence[str], directory: Path, files: Mapping[str, str]) -> None:
    """Writes those files, then prints each; a JVM has one codec of a name, and one buffer of a codec."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="warmbase-hfile-") as listed:
        listed.writelines(f"{name} {asked}\n" for name, asked in files.items())
        listed.flush()
        run([*java, "write-all", listed.name], directory)
    run([*java, "print", *files], directory)


def run(arguments: Sequence[str], directory: Path) -> None:
    """Runs it there, so that what is written holds no path of this machine."""
    done = subprocess.run(arguments, cwd=directory, check=False, timeout=JAVA_SECONDS)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
