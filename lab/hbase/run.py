"""A run of the lab: one scenario after another, with the results written after each."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from lab import machine
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.experiment import Experiment, ScenarioResult
from lab.hbase.laboratory import Laboratory, laboratory, remove_directory, run_directory, scale
from lab.hbase.recording import recordings_to_json
from lab.hbase.report.page import page_html
from lab.hbase.result import Machine, Run, Scenario, Substitution
from lab.hbase.scenarios import BENCHED, SCENARIOS, benched, question, unbenched
from lab.hbase.ycsb import YcsbTable
from lab.machine import control_groups, volume
from lab.machine.paths import LabPaths, free_ports, home
from warmbase.ground.errors import InvalidInput, OperationFailed, Problem
from warmbase.ground.units import GIB

SPARE_DISK_BYTES: Final = 2 * GIB  # judgement: logs, a write-ahead log, unfinished uploads
COPIES_ON_DISK: Final = 5
"""The most copies of the data on disk: store files before and after a compaction, cache, volume, a dropped table."""

BULKY: Final = ("objects", "wal", "scratch", "volumes", "images", "cache")
"""Directories of a lab that are not saved with its logs."""

Say = Callable[[str], None]


class RunRequest(Struct, frozen=True, kw_only=True):
    """A request for a run: scenarios by name, the length of a window, and the seed that draws the keys."""

    of: Laboratory
    scenarios: Sequence[str]
    named: bool
    """True where the user named the scenarios; otherwise all scenarios run."""
    seconds: float
    seed: int
    volume_mib_s: int
    command: str
    short: bool = False
    """True where scenarios run in their short form, if they have one."""

    @property
    def table(self) -> YcsbTable:
        """Return the table of the environment's cells."""
        small = self.of.miniature
        workload = small.workload
        return YcsbTable(
            name="usertable",
            rows=small.rows,
            value_bytes=workload.cell_bytes,
            compressible=workload.compression_ratio,
        )


class RunFiles(Struct, frozen=True):
    """The files of a run: its JSON, its page beside it, and the logs of what failed."""

    directory: Path
    name: str

    @property
    def data(self) -> Path:
        """Return the run as JSON."""
        return self.directory / f"{self.name}.json"

    @property
    def page(self) -> Path:
        """Return the run as one HTML page."""
        return self.directory / f"{self.name}.html"

    def logs(self, scenario: str) -> Path:
        """Return the directory for the logs of a scenario that failed."""
        return self.directory / f"{self.name}-{scenario}-logs"

    def write(self, finished: Run) -> None:
        """Write both files, each completely or not at all."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for file, text in ((self.data, finished.to_json()), (self.page, page_html(finished))):
            half = file.with_suffix(f"{file.suffix}.part")
            half.write_text(text, encoding="utf-8")
            half.replace(file)

    def record(self, scenario: str, recorded: str) -> None:
        """Write the JSON of what a scenario recorded to `ENV-SCENARIO-recorded.json`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / f"{self.name}-{scenario}-recorded.json"
        file.write_text(recorded, encoding="utf-8")

    def failed(self, scenario: str, error: Exception, directory: Path) -> Problem:
        """Save the logs of a scenario that failed, and return the message."""
        why = str(error) if isinstance(error, OperationFailed) else repr(error)
        logs = self.logs(scenario)
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(directory, logs, ignore=shutil.ignore_patterns(*BULKY))
        # The directory no longer exists when somebody reads this.
        why = why.replace(str(directory), str(logs))
        return Problem(where=scenario, what="the scenario failed", why=why, fix=f"read its logs in {logs}")

    def scenarios(self) -> tuple[str, ...]:
        """Return the scenarios that an earlier run finished; none without a readable run."""
        try:
            return tuple(scenario.name for scenario in self.read().scenarios)
        except InvalidInput:
            return ()

    def read(self) -> Run:
        """Return the earlier run. Raises InvalidInput where there is none that can be resumed."""
        try:
            return Run.of_json(self.data.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput.of(
                where=str(self.data),
                what="the run to resume",
                why=f"it cannot be read: {error}",
                fix="leave out --resume, or name the run's directory with --results",
            ) from None


def run(request: RunRequest, results: RunFiles, say: Say, *, resume: bool = False) -> Run:
    """Run the requested scenarios; with `resume`, the results of an earlier run are kept.

    Raises InvalidInput where this machine is too small or the earlier run was another, OperationFailed at the end
    where scenarios failed: what the others found is written all the same.
    """
    check_room(request.of)
    record = _header(request)
    if resume:
        record = _resumed(request, record, results)
    elif request.named and (lost := [earlier for earlier in results.scenarios() if earlier not in request.scenarios]):
        raise InvalidInput.of(
            where=str(results.data),
            what=f"results of an earlier run for {', '.join(lost)}",
            why="a run of other scenarios would overwrite them",
            fix="keep them with --resume, or choose another directory with --results",
        )
    finished = {earlier.name for earlier in record.scenarios}
    with run_directory() as root:
        pending = [name for name in SCENARIOS if name in request.scenarios and name not in finished]
        session = Session(request, results, say, root, pending)
        for scenario in session.scenarios():
            scenarios = sorted((*record.scenarios, scenario), key=lambda one: SCENARIOS.index(one.name))
            record = replace(record, scenarios=tuple(scenarios))
            results.write(record)
    if session.failed:
        raise OperationFailed(session.failed)
    return record


def check_room(of: Laboratory) -> None:
    """Raise InvalidInput with everything that this machine lacks for such a lab."""
    data_bytes = of.miniature.workload.stored_bytes
    lacks = machine.needs(of.memory_bytes, COPIES_ON_DISK * data_bytes + SPARE_DISK_BYTES, home())
    if lacks:
        raise InvalidInput(lacks)


def _header(request: RunRequest) -> Run:
    of = request.of
    place = LabPaths(root=Path("/lab"), ports=free_ports())
    site = LabCluster(software=of.software, place=place, launch=of.launch, miniature=of.miniature).site(LabServer())
    return Run(
        environment=of.launch.environment.name,
        release=of.release.label,
        command=request.command,
        software=of.software.versions,
        substitution=of.software.substitution,
        machine=this_machine(),
        scale=(
            *scale(of),
            ("a window of reads", "", f"{request.seconds:g} s"),
            ("a gp3 at its default", "125 MiB/s", f"{request.volume_mib_s} MiB/s, where the volume is limited"),
        ),
        properties=site.as_rendered,
        substitutions=site.substitutions,
        scenarios=(),
    )


def this_machine() -> Machine:
    """Return this machine, as a run records it."""
    limited_memory = control_groups.unavailable() is None
    return Machine(
        cores=machine.cores(),
        memory_bytes=machine.memory().total_bytes,
        kernel=machine.kernel(),
        disk_is_limited=limited_memory and volume.unavailable() is None,
        memory_is_limited=limited_memory,
    )


def _resumed(request: RunRequest, record: Run, results: RunFiles) -> Run:
    """Return the earlier run, if it has the same plan and scale, without the scenarios to run again."""
    earlier = results.read()
    shared = ("environment", "release", "scale", "software", "machine")
    if any(getattr(record, name) != getattr(earlier, name) for name in shared):
        raise InvalidInput.of(
            where=str(results.data),
            what="the run to resume",
            why=f"it ran {earlier.environment} on {earlier.release} with other software or at another scale",
            fix="use the same options as that run, or leave out --resume",
        )
    again = set(request.scenarios) if request.named else set()
    return replace(earlier, scenarios=tuple(scenario for scenario in earlier.scenarios if scenario.name not in again))


class Session(Struct):
    """The scenarios of a run: those still `pending`, in order, and a message for each that failed."""

    request: RunRequest
    results: RunFiles
    say: Say
    root: Path
    pending: list[str]
    failed: list[Problem] = field(default_factory=list)

    def scenarios(self) -> Iterator[Scenario]:
        """Yield each scenario that succeeds. The scenarios after a failed one get a lab of their own."""
        while self.pending:
            directory = self.root / self.pending[0]
            try:
                yield from self._in_one_lab(directory)
            except Exception as error:  # noqa: BLE001 - an hour of others' findings must not be lost to it
                failed = self.results.failed(self.pending.pop(0), error, directory)
                self.failed.append(failed)
                self.say(f"{failed.where} failed: {failed.why}")
            finally:
                remove_directory(directory)

    def _in_one_lab(self, directory: Path) -> Iterator[Scenario]:
        if self.pending[0] not in BENCHED:
            yield self._next(lambda name: unbenched(name)(directory, self.say))
            return
        request, of = self.request, self.request.of
        with laboratory(of, directory, self.say) as bench:
            experiment = Experiment(
                bench=bench,
                release=of.release,
                miniature=of.miniature,
                table=request.table,
                seconds=request.seconds,
                cores=machine.cores(),
                seed=request.seed,
                volume_mib_s=request.volume_mib_s,
                short=request.short,
            )
            while self.pending and self.pending[0] in BENCHED:
                yield self._next(lambda name: benched(name)(experiment), bench.cluster.tried)

    def _next(
        self, experiment: Callable[[str], ScenarioResult], tried: dict[Substitution, None] | None = None
    ) -> Scenario:
        """Run the first pending scenario and remove it from the list."""
        name = self.pending[0]
        what = question(name)
        self.say(f"{name}: {what.question}")
        tried = {} if tried is None else tried
        tried.clear()
        at, began = datetime.now(UTC), time.monotonic()
        findings = experiment(name)
        del self.pending[0]
        if findings.recorded:
            self.results.record(name, recordings_to_json(findings.recorded))
        if findings.cluster_recording:
            self.results.record(name, findings.cluster_recording.to_json())
        return Scenario(
            name=name,
            title=what.title,
            question=what.question,
            figures=findings.figures,
            charts=findings.charts,
            limits=findings.limits,
            seed=self.request.seed,
            began=at.isoformat(timespec="seconds"),
            seconds=time.monotonic() - began,
            tried=tuple(tried),
            outages=findings.outages,
        )
