"""A cluster deployed in this process from templates, recorded, and edits of its file; and progress that is cut."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tests.operations.killable import Killed
from tests.operations.mocked_aws import Snapshot, create, is_untouched
from warmbase import app
from warmbase.changes.planned_cluster import PlannedCluster, deployable_cluster
from warmbase.configurations.launch import Launch
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records, write_record
from warmbase.environments.reader import read_environment
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.protection import protect
from warmbase.operations.deploy.pinning import pin
from warmbase.operations.deploy.tuning import Tuning, tuning_of
from warmbase.stacks.pinned import read_templates

PROJECT = Path(__file__).parents[2]


class Cut(Struct, dict=True):
    """Progress that ends at one step: as it begins, at the first line that it says, or when it has ended."""

    at: int | None = None
    when: str = "begin"
    said: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Counts; raises Killed where it is to end."""
        here = len(self.titles) == self.at
        self.titles.append(title)
        if here and self.when == "begin":
            raise Killed

        def say(line: str) -> None:
            self.said.append(line)
            if here and self.when == "middle":
                raise Killed

        yield say
        if here and self.when == "end":
            raise Killed


WHEN = ("begin", "middle", "end")


class Deployed(Struct, frozen=True, dict=True):
    """A file, and what runs of it."""

    aws: Aws
    file: Path

    @property
    def environment(self) -> Environment:
        """As the file says by now."""
        return read_environment(str(self.file))

    @property
    def launch(self) -> Launch:
        """Return today's plan for the cluster that runs."""
        return self.planned.launch

    @property
    def planned(self) -> PlannedCluster:
        """Return the cluster with its record and today's plan."""
        return deployable_cluster(self.environment, "blue")

    @property
    def cluster_id(self) -> str:
        """Return the id of the cluster that runs."""
        return read_running_cluster(self.aws, self.launch).cluster.id

    def edit(self, old: str, new: str) -> None:
        """Return the file by now."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new, 1))

    def tuning(self, *, everything: bool = False) -> Tuning:
        """Return what it would take."""
        return tuning_of(self.aws, self.planned, everything=everything)

    def states(self) -> dict[str, str]:
        """Return the state of every cluster there ever was."""
        return {cluster["Id"]: cluster["Status"]["State"] for cluster in self.aws.emr.list_clusters()["Clusters"]}

    def tag(self, key: str, value: str | None) -> None:
        """Makes the local AWS misbehave, or no longer."""
        if value is None:
            self.aws.emr.remove_tags(ResourceId=self.cluster_id, TagKeys=[key])
        else:
            self.aws.emr.add_tags(ResourceId=self.cluster_id, Tags=[{"Key": key, "Value": value}])


@cache
def synthesised(text: str) -> Path:
    """Return what is synthesised of a file, once in the whole run: the same wherever the file is."""
    directory = Path(tempfile.mkdtemp(prefix="warmbase-tests-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    file = directory / "dev.yaml"
    file.write_text(text)
    return app.synthesise(str(file), str(directory / "cdk.out")).assembly


class Recording(Struct, frozen=True, dict=True):
    """A cluster with its launch record: what the mocked AWS holds, and the files of the record."""

    state: Snapshot
    files: Mapping[Path, bytes]

    @classmethod
    def take(cls, directory: Path) -> Recording:
        """Return what is recorded below a directory, and the state of the mocked AWS that is active."""
        files = [file for file in directory.glob("*.launch/**/*") if file.is_file()]
        return cls(Snapshot.take(), {file.relative_to(directory): file.read_bytes() for file in files})

    def restore(self, directory: Path) -> None:
        """Puts copies of the files below a directory, and of the state into the mocked AWS that is active."""
        self.state.restore()
        for name, content in self.files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(content)


_recordings: dict[str, Recording] = {}


def deployed(aws: Aws, directory: Path, more: str = "", *, recorded: bool = True) -> Deployed:
    """Deploy environments/dev.yaml, with more at its end, by CloudFormation alone; record and protect it as `pin`.

    Where the mocked AWS is empty, what came of it the first time is restored.
    """
    file, text = directory / "dev.yaml", (PROJECT / "environments/dev.yaml").read_text() + more
    file.write_text(text)
    is_first = is_untouched() and text not in _recordings
    if recorded and is_untouched() and not is_first:
        _recordings[text].restore(directory)
        return Deployed(aws, file)
    assembly = synthesised(text)
    create(aws, "dev", assembly, read_templates(assembly))
    if recorded:
        environment = read_environment(str(file))
        pin(aws, environment, "blue")
        protect(aws, environment.name, "blue")
        if is_first:
            _recordings[text] = Recording.take(directory)
    return Deployed(aws, file)


def record_of_another(here: Deployed) -> str:
    """Makes its launch record one of j-OTHER, as whole as it was; the id of the cluster that runs."""
    record = launch_records(here.environment)["blue"]
    write_record(
        replace(record, cluster_id="j-OTHER"), {name: record.file(name).read_bytes() for name in record.bootstrap}
    )
    return record.cluster_id
