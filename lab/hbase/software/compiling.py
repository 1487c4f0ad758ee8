"""The lab's own Java, compiled on a runtime that has no compiler: by Eclipse's, which is a jar."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.software.jars import COMPILER, jar_sets
from sizing.problem import OperationFailed

SOURCES: Final = Path(__file__).parents[1] / "java"
# `--release` would need lib/ct.sym, which a linked runtime lacks.
FLAGS: Final = ("-source", "17", "-target", "17", "-encoding", "UTF-8", "-proc:none", "-nowarn")
# It ends before the JVM's second compiler pays off: measured, 1.7 s of CPU with these, 3 s without.
JVM_FLAGS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
COMPILE_SECONDS: Final = 120.0  # judgement: it takes 2 s on an idle machine


def sources(directory: Path = SOURCES) -> tuple[Path, ...]:
    """Return every Java file of the lab."""
    return tuple(sorted(directory.rglob("*.java")))


class Compilation(Struct, frozen=True, kw_only=True):
    """Java files to be compiled against one set of jars; `jars` is where jars lie, `classes` where classes go."""

    java: Path
    jars: Path
    classes: Path
    name: str
    """The name of the set."""
    directory: Path = SOURCES

    @property
    def target(self) -> Path:
        """The directory of its classes, named by all that they are made of: another source, another directory."""
        digest = hashlib.sha256(" ".join(FLAGS).encode())
        for source in sources(self.directory):
            digest.update(f"\n{source.relative_to(self.directory)}\n".encode() + source.read_bytes())
        for jar in (*jar_sets()[COMPILER], *jar_sets()[self.name]):
            digest.update(jar.sha256.encode())
        return self.classes / f"{self.name}-{digest.hexdigest()[:16]}"

    def compile(self) -> Path:
        """Has the classes, and returns their directory: whole, or not there. Raises OperationFailed on an error."""
        target = self.target
        if target.exists():
            return target
        self.classes.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=self.classes, prefix=f"{target.name}."))
        try:
            if files := sources(self.directory):
                self._run(scratch, files)
            scratch.chmod(0o755)
            _put(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return target

    def _run(self, output: Path, files: Sequence[Path]) -> None:
        compiler = (self.jars / jar.path for jar in jar_sets()[COMPILER])
        class_path = os.pathsep.join(str(self.jars / jar.path) for jar in jar_sets()[self.name])
        command = [str(self.java), *JVM_FLAGS, "-cp", os.pathsep.join(map(str, compiler))]
        command += ["org.eclipse.jdt.internal.compiler.batch.Main", *FLAGS, "-cp", class_path, "-d", str(output)]
        command += map(str, files)
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OperationFailed.of(
                where=str(self.directory), what="could not be compiled", why=str(error), fix="run `warmbase lab setup`"
            ) from None
        if process.returncode:
            messages = (process.stderr or process.stdout).strip().replace("\n", "\n  ")
            raise OperationFailed.of(
                where=str(self.directory),
                what=f"does not compile against {self.name}",
                why=messages,
                fix="mend the sources, or run `warmbase lab setup` for other jars",
            )


def _put(scratch: Path, target: Path) -> None:
    try:
        scratch.rename(target)
    except OSError:
        # Another process stored the same classes in the meantime.
        if not target.is_dir():
            raise
