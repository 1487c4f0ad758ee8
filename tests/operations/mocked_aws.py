"""AWS in the process of the tests: clients of it, and stacks that are created once and copied from then on."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from moto.core.base_backend import BackendDict
from moto.ssm.models import ParameterDict
from msgspec import Struct

from warmbase.operations.aws.clients import Aws, any_call

Templates = Mapping[str, Mapping[str, Any]]
VARIABLES = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
ASSETS = "cdk-hnb659fds-assets-123456789012-us-east-1"


@cache
def clients() -> Aws:
    """Return the same clients for every test: botocore reads megabytes of JSON to make them."""
    return Aws(VARIABLES, any_call)


@cache
def operator(name: str) -> Aws:
    """Return the clients of one operator, as a command has them: without a lock, they change nothing."""
    del name
    return Aws(VARIABLES)


class _Writer(pickle.Pickler):
    """Pickles the state of moto; what cannot be pickled is never changed, and is shared by all copies."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.shared: list[object] = []

    def persistent_id(self, obj: object) -> int | None:
        """The number of a shared object; None for one that is copied."""
        is_local_function = isinstance(obj, FunctionType) and "<" in obj.__qualname__
        if not is_local_function and not isinstance(obj, RSAPrivateKey | BackendDict):
            return None
        self.shared.append(obj)
        return len(self.shared) - 1

    def reducer_override(self, obj: Any) -> Any:
        """Parameters of Systems Manager are a defaultdict whose constructor takes something else."""
        if isinstance(obj, ParameterDict):
            return ParameterDict, (obj.account_id, obj.region_name), vars(obj), None, iter(list(dict.items(obj)))
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(io.BytesIO(snapshot.data))
        self.shared = snapshot.shared

    def persistent_load(self, pid: int) -> object:
        """Return the shared object of this number."""
        return self.shared[pid]


class Snapshot(Struct, frozen=True, dict=True):
    """All that moto holds at one time. To restore it takes a twentieth of the time that creating stacks takes."""

    data: bytes
    shared: tuple[object, ...]

    @classmethod
    def take(cls) -> Snapshot:
        """Return the state of the mocked AWS that is active."""
        file = io.BytesIO()
        writer = _Writer(file)
        writer.dump([(services, dict(services)) for services in _services()])
        return cls(file.getvalue(), tuple(writer.shared))

    def replace(self) -> None:
        """Puts a copy of the state in place of all that the mocked AWS holds; a reset takes ten times as long."""
        for services in _services():
            services.clear()
        self.restore()

    def restore(self) -> None:
        """Puts a copy of the state into the mocked AWS that is active."""
        for services, accounts in _Reader(self).load():
            assert isinstance(services, BackendDict)
            # The reset of one service may have created the backend of another one again.
            services.clear()
            for account, regions in accounts.items():
                # Asked for one account, moto counts the service among those to be reset.
                assert not services[account]
                services[account] = regions


def is_untouched() -> bool:
    """Return whether nobody has used the mocked AWS since it was reset."""
    return not _services()


def _services() -> tuple[BackendDict[Any], ...]:
    """Return the services of moto that somebody has used since it was reset."""
    return tuple(BackendDict._instances)


_snapshots: dict[tuple[str, Path], Snapshot] = {}


def create(aws: Aws, name: str, assembly: Path, templates: Templates) -> None:
    """Creates the stacks of an environment as CloudFormation would, or restores what came of it the first time."""
    is_empty, key = is_untouched(), (name, assembly)
    if is_empty and key in _snapshots:
        _snapshots[key].restore()
        return
    aws.s3.create_bucket(Bucket=ASSETS)
    for asset in assembly.glob("asset.*"):
        aws.s3.put_object(Bucket=ASSETS, Key=asset.name.removeprefix("asset."), Body=asset.read_bytes())
    shared = [f"warmbase-{name}-{stack}" for stack in ("network", "storage")]
    for full in (*shared, *sorted(templates.keys() - shared)):
        aws.cloudformation.create_stack(StackName=full, TemplateBody=json.dumps(templates[full]))
        [described] = aws.cloudformation.describe_stacks(StackName=full)["Stacks"]
        assert described["StackStatus"] == "CREATE_COMPLETE", described
    if is_empty:
        _snapshots[key] = Snapshot.take()
