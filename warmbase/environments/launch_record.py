"""The launch record of a running cluster, which is kept beside its environment file like a lock file.

CloudFormation replaces an EMR cluster when its definition changes, and starts the new one before it ends the old. So
the definition of the running cluster is recorded once, and synthesis takes it from the record from then on.

A record is `environments/prod.launch/blue/launch.json`, with the bootstrap files beside it; the user commits them. A
record that was edited, or that belongs to another cluster than the environment file's, is refused: what is deployed
from it could replace the running cluster.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, convert, to_builtins
from msgspec.structs import fields, replace

from warmbase.environments.environment import Environment
from warmbase.ground.errors import InvalidInput, Problem, Refused
from warmbase.ground.files import read_json, read_whole_file
from warmbase.sizing.plan import CoreGroup, Plan, PrimaryGroup

BOOTSTRAP: Final = "bootstrap"
"""The folder of the bootstrap files, beside the record's own file."""


class Identity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The properties that identify a cluster: an environment file with other values describes another cluster."""

    environment: str
    account: str
    region: str
    root: str
    root_key: str
    mode: str
    wal: str
    cluster: str
    role: str
    vpc: str
    subnet: str


class RecordedResource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A resource as it was launched: its type, and those of its properties whose change would replace it."""

    type: str
    properties: Mapping[str, Any]


class RecordedPlan(Struct, frozen=True, kw_only=True):
    """The figures of the plan that the cluster was launched with, which today's plan keeps.

    `cache_mib` is the BucketCache of one RegionServer, or the file cache of one worker; None in a mode without. Volumes
    have their purposes, and the drive of an instance is among them.
    """

    release: str
    cache_mib: int | None
    primary: PrimaryGroup
    core: CoreGroup

    @classmethod
    def of(cls, plan: Plan) -> RecordedPlan:
        """The figures of a plan that is launched."""
        cache_mib = plan.cache.size_mib if plan.bucket_cache else None
        return cls(release=plan.release, cache_mib=cache_mib, primary=plan.primary, core=plan.core)


class LaunchRecord(Struct, frozen=True, kw_only=True):
    """One cluster as it was launched.

    `resources` has the cluster and all that it reaches by reference, by stack and logical id. `bootstrap` has the
    SHA-256 of each file that its bootstrap actions fetch, by name; `directory` holds these files. `plan` is None in a
    record from before 0.1.0, which has no such section: `warmbase/changes/planned_cluster.py` derives it.
    """

    directory: Path
    identity: Identity
    availability_zone: str
    cluster_id: str
    launched_at: str
    resources: Mapping[str, Mapping[str, RecordedResource]]
    bootstrap: Mapping[str, str]
    plan: RecordedPlan | None = None

    def file(self, name: str) -> Path:
        """Return the path of a bootstrap file as it was launched."""
        return self.directory / BOOTSTRAP / name

    def document(self) -> dict[str, Any]:
        """Return the record as JSON, without its digest."""
        document: dict[str, Any] = to_builtins(self, enc_hook=str)
        del document["directory"]
        if self.plan is None:
            del document["plan"]
        return document


def identity_of(environment: Environment, cluster_name: str, account: str) -> Identity:
    """Return the identity that the environment file gives the cluster in that account."""
    return Identity(
        environment=environment.name,
        account=account,
        region=environment.region,
        root=environment.in_account(environment.root.url, account),
        root_key=environment.root.key or "",
        mode=str(environment.mode),
        wal=str(environment.wal),
        cluster=cluster_name,
        role=environment.role(cluster_name),
        vpc=environment.network.vpc or "new",
        subnet=environment.network.subnet or "new",
    )


def in_recorded_zones(environment: Environment, records: Iterable[LaunchRecord]) -> Environment:
    """Return the environment in the zone where its clusters run: a subnet never changes its zone."""
    zones = [record.availability_zone for record in records]
    if not zones:
        return environment
    return replace(environment, network=replace(environment.network, availability_zone=zones[0]))


FILE: Final = "launch.json"
OLD: Final = ".old-"
FRESH: Final = ".fresh-"
DIGEST: Final = "sha256"
"""The key of the document's own digest, which shows an edit by hand."""


def record_directory(environment: Environment, cluster_name: str) -> Path:
    """Return the directory of that cluster's record, whether it exists or not."""
    directories = (directory for directory in _directories(environment) if directory.name == cluster_name)
    return next(directories, _home(environment) / cluster_name)


def launch_records(environment: Environment) -> Mapping[str, LaunchRecord]:
    """Return the launch records of an environment by cluster name.

    Raises InvalidInput for a record that was edited or that belongs to another cluster than the file's. Records are
    found by the file's name and by the environment's name, so that a renamed file keeps them.
    """
    records = [_read(directory) for directory in _directories(environment)]
    problems = [problem for record in records for problem in _mismatches(environment, record)]
    home = _home(environment)
    problems += [
        _edited(old, "it was being rewritten and is incomplete")
        for old in home.glob(f"{OLD}*")
        if not (home / old.name.removeprefix(OLD)).exists()
    ]
    if problems:
        raise InvalidInput(problems)
    return {record.identity.cluster: record for record in records}


def recorded_launch(environment: Environment, cluster_name: str) -> LaunchRecord:
    """Return the launch record of a cluster. Raises InvalidInput where it has none, and as `launch_records`."""
    record = launch_records(environment).get(cluster_name)
    if record is None:
        raise InvalidInput.of(
            where=str(record_directory(environment, cluster_name)),
            what="no launch record",
            why=f"cluster {cluster_name} has no launch record, so there is nothing to compare with",
            fix=f"if the cluster is running, write its record: warmbase pin {environment.argument}",
        )
    return record


def recorded_identities(environment: Environment) -> Mapping[Path, Identity]:
    """Return what each record, whole or damaged, says about the identity of its cluster, by the record's directory."""
    identities: dict[Path, Identity] = {}
    for directory in _directories(environment):
        with suppress(OSError, ValueError, KeyError, TypeError):
            identities[directory] = Identity(**read_json(directory / FILE)["identity"])
    return identities


def check_record(
    environment: Environment, cluster_name: str, record: LaunchRecord | None, running: str
) -> LaunchRecord:
    """Return the record if it is one of the cluster that runs by that id. Raises Refused for another, and for none."""
    fix = f"write the record: warmbase pin {environment.argument}; then run the same command again"
    if record is None:
        raise Refused.of(
            where=f"cluster {cluster_name}",
            what=f"runs as {running}, and has no launch record",
            why="without a launch record, warmbase does not know what the cluster was launched with",
            fix=fix,
        )
    if record.cluster_id != running:
        raise Refused.of(
            where=f"cluster {cluster_name}",
            what=f"runs as {running}, and its launch record is of {record.cluster_id}",
            why=f"warmbase does not know what {running} was launched with",
            fix=fix,
        )
    return record


def _home(environment: Environment) -> Path:
    return Path(environment.source).with_suffix(".launch")


def _directories(environment: Environment) -> list[Path]:
    """Return the directories with a record of this environment; a leading dot marks an unfinished one."""
    home, directories = _home(environment), []
    for directory in sorted(home.parent.glob("*.launch/*")):
        if not directory.is_dir() or directory.name[0] == ".":
            continue
        if directory.parent == home:
            directories.append(directory)
            continue
        # The record stands beside another file; if it is unreadable, it belongs to that file.
        with suppress(OSError, ValueError, KeyError, TypeError):
            identity = read_json(directory / FILE)["identity"]
            if (identity["environment"], identity["region"]) == (environment.name, environment.region):
                directories.append(directory)
    return directories


def write_record(record: LaunchRecord, files: Mapping[str, bytes]) -> None:
    """Write the record and its files, all or nothing, in place of an earlier record."""
    home = record.directory.parent
    home.mkdir(exist_ok=True)
    old = home / f"{OLD}{record.directory.name}"
    if old.exists() and not record.directory.exists():
        # A writer was killed between its two steps.
        old.rename(record.directory)
    for unfinished in (old, *home.glob(f"{FRESH}*")):
        shutil.rmtree(unfinished, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=FRESH, dir=home))
    try:
        (fresh / BOOTSTRAP).mkdir()
        for name, content in files.items():
            (fresh / BOOTSTRAP / name).write_bytes(content)
        document = record.document()
        text = json.dumps({**document, DIGEST: _digest(document)}, indent=1, sort_keys=True) + "\n"
        (fresh / FILE).write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        if record.directory.exists():
            record.directory.rename(old)
        fresh.rename(record.directory)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        if old.exists() and not record.directory.exists():
            old.rename(record.directory)
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _read(directory: Path) -> LaunchRecord:
    file = directory / FILE
    try:
        document = read_json(file)
        digest = document.pop(DIGEST)
        record = convert({**document, "directory": directory}, LaunchRecord)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput([_edited(file, f"it cannot be read: {error!r}")]) from None
    problems = [_edited(file, "it was changed after warmbase wrote it")] if digest != _digest(document) else []
    files = {path.name: path for path in (directory / BOOTSTRAP).glob("*")}
    for name, launched in record.bootstrap.items():
        content = None
        with suppress(OSError):  # A file that cannot be read counts as changed.
            content = read_whole_file(files[name]) if name in files else None
        if name not in files:
            problems.append(_edited(record.file(name), "it is missing"))
        elif content is None or hashlib.sha256(content).hexdigest() != launched:
            problems.append(_edited(record.file(name), "it differs from what was launched"))
    if problems:
        raise InvalidInput(problems)
    return record


def _edited(file: Path, why: str) -> Problem:
    return Problem(
        where=str(file),
        what="launch record",
        why=f"{why}, and a deployment from it could replace the running cluster",
        fix="restore it from version control (git checkout), or write it again: warmbase pin",
    )


def _mismatches(environment: Environment, record: LaunchRecord) -> list[Problem]:
    """Return the properties of the running cluster that the environment file states differently."""
    was, cluster_name = record.identity, record.identity.cluster
    if cluster_name != record.directory.name or cluster_name not in environment.cluster_names:
        missing = Problem(
            where=environment.source,
            what=f"clusters.{cluster_name}",
            why=f"{record.directory / FILE} says that cluster {cluster_name} runs as {record.cluster_id}, but the file"
            " has no such cluster",
            fix="add it again; or, once that cluster is terminated and its stack is deleted, remove"
            f" {record.directory}",
        )
        return [missing]
    now = identity_of(environment, cluster_name, environment.account or was.account)
    keys = {
        "environment": "name",
        "root": "storage.root",
        "root_key": "storage.key",
        "mode": "storage.mode",
        "wal": "storage.wal",
        "role": f"clusters.{cluster_name}.role",
        "vpc": "network.vpc",
        "subnet": "network.subnet",
    }
    return [
        Problem(
            where=environment.source,
            what=keys.get(name, name),
            why=f"cluster {cluster_name} runs as {record.cluster_id} with {getattr(was, name)},"
            f" not {getattr(now, name)}: that cannot be changed on a running cluster",
            fix=f"write {getattr(was, name)} again; to launch another cluster, copy the file and give the copy"
            " another `name:`",
        )
        for name in (field.name for field in fields(Identity))
        if getattr(now, name) != getattr(was, name)
    ]
