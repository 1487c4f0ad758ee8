"""The launch record of a running cluster, which is kept beside its environment file like a lock file.

CloudFormation replaces an EMR cluster when its definition changes, and starts the new one before it ends the old. So
the definition of the running cluster is recorded once, and synthesis takes it from the record from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from environments.environment import Environment
from sizing.cluster import Volume
from sizing.engines.trino.plan import TrinoPlan
from sizing.plan import CoreGroup, Plan, PrimaryGroup
from sizing.units import GIB, MIB

BOOTSTRAP: Final = "bootstrap"
"""The folder of the bootstrap files, beside the record's own file."""


class Identity(Struct, frozen=True, kw_only=True):
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


class RecordedResource(Struct, frozen=True, kw_only=True):
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

    @classmethod
    def of_trino(cls, plan: TrinoPlan) -> RecordedPlan:
        """Return the figures of the plan of an analytics cluster that is launched."""
        cache_mib = plan.cache.size_gib * GIB // MIB
        return cls(release=plan.release, cache_mib=cache_mib, primary=plan.coordinator, core=plan.workers)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> RecordedPlan:
        """The figures that `document` has written. Raises KeyError or TypeError for anything else."""
        return cls(
            release=document["release"],
            cache_mib=document["cache_mib"],
            primary=PrimaryGroup(**_group(document["primary"])),
            core=CoreGroup(**_group(document["core"])),
        )

    def document(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        document: dict[str, Any] = to_builtins(self)
        return document


def _group(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "volumes": tuple(Volume(**volume) for volume in document["volumes"])}


class LaunchRecord(Struct, frozen=True, kw_only=True):
    """One cluster as it was launched.

    `resources` has the cluster and all that it reaches by reference, by stack and logical id. `bootstrap` has the
    SHA-256 of each file that its bootstrap actions fetch, by name; `directory` holds these files. `plan` is None in a
    record of version 0.1, which has no such section: `changes/legacy_plan.py` derives it.
    """

    directory: Path
    identity: Identity
    availability_zone: str
    cluster_id: str
    launched_at: str
    resources: Mapping[str, Mapping[str, RecordedResource]]
    bootstrap: Mapping[str, str]
    plan: RecordedPlan | None = None

    @classmethod
    def parse(cls, directory: Path, document: Mapping[str, Any]) -> LaunchRecord:
        """The record that `document` has written. Raises KeyError, TypeError or AttributeError for anything else."""
        return cls(
            directory=directory,
            identity=Identity(**document["identity"]),
            availability_zone=document["availability_zone"],
            cluster_id=document["cluster_id"],
            launched_at=document["launched_at"],
            resources={
                stack: {name: RecordedResource(**resource) for name, resource in resources.items()}
                for stack, resources in document["resources"].items()
            },
            bootstrap=document["bootstrap"],
            plan=RecordedPlan.parse(document["plan"]) if "plan" in document else None,
        )

    def file(self, name: str) -> Path:
        """Return the path of a bootstrap file as it was launched."""
        return self.directory / BOOTSTRAP / name

    def document(self) -> dict[str, Any]:
        """Return the record as JSON, without its digest."""
        return {
            "identity": to_builtins(self.identity),
            "availability_zone": self.availability_zone,
            "cluster_id": self.cluster_id,
            "launched_at": self.launched_at,
            "resources": {
                stack: {
                    name: {"type": resource.type, "properties": dict(resource.properties)}
                    for name, resource in resources.items()
                }
                for stack, resources in self.resources.items()
            },
            "bootstrap": dict(self.bootstrap),
            **({} if self.plan is None else {"plan": self.plan.document()}),
        }


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
