"""A recorded cluster in today's stacks: defined as it was launched, and checked again in the finished templates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from aws_cdk import aws_emr as emr

from warmbase.emr.cloudformation import CLUSTER_TYPE, SECURITY_TYPE, resolved
from warmbase.environments.launch_record import LaunchRecord, RecordedResource
from warmbase.ground.errors import Refused
from warmbase.stacks.references import Templates, create_only_pointers, referenced_by

UPLOADED: Final = re.compile(r"/([0-9a-f]{64})(\.[a-z]+)")
"""An asset's name in a bootstrap action: its content's hash."""
SUBNET_FORMS: Final = frozenset({"Ec2SubnetId", "Ec2SubnetIds"})
CHANGE_OVER: Final = (
    "deploy with the version of this checkout that launched it; if a newer version only checks more, write the record"
    " again with `warmbase pin`; for any other change, tear the cluster down and launch it again"
)


class RecordedCluster:
    """The part of a launch record that belongs to the cluster's own stack."""

    def __init__(self, record: LaunchRecord, stack: str) -> None:
        self.record = record
        resources = {resource.type: resource for resource in record.resources[stack].values()}
        self.cluster = resources[CLUSTER_TYPE]
        self.security: dict[str, Any] = resources[SECURITY_TYPE].properties["SecurityConfiguration"]

    @property
    def watches_claim(self) -> bool:
        """Return whether the nodes watch the claim; those of a version before 0.1.0 do not."""
        return any(action["Name"] == "watch-claim" for action in self.cluster.properties.get("BootstrapActions", ()))

    @property
    def certificates(self) -> str | None:
        """Return the address of the nodes' certificates at launch: nodes that join later look there too."""
        in_transit = self.security["EncryptionConfiguration"].get("InTransitEncryptionConfiguration", {})
        url: str | None = in_transit.get("TLSCertificateConfiguration", {}).get("S3Object")
        return url


def apply_record(cluster: emr.CfnCluster, recorded: RecordedResource) -> None:
    """Give the cluster the recorded properties, and remove any other property whose change would replace it."""
    for name in create_only_pointers(CLUSTER_TYPE) - recorded.properties.keys():
        cluster.add_property_deletion_override(name)
    for name, value in recorded.properties.items():
        if name == "Instances":
            # Earlier versions named the subnet in a list (decision 0021); their records keep that form.
            for key in SUBNET_FORMS - value.keys():
                cluster.add_property_deletion_override(f"Instances.{key}")
            for key, inner in value.items():
                cluster.add_property_override(f"Instances.{key}", inner)
        else:
            cluster.add_property_override(name, value)


def read_templates(assembly: Path) -> Templates:
    """Return the templates in a directory by stack name."""
    files = sorted(assembly.glob("*.template.json"))
    return {file.name.removesuffix(".template.json"): json.loads(file.read_text(encoding="utf-8")) for file in files}


def check_not_replaced(assembly: Path, record: LaunchRecord) -> None:
    """Raise Refused where the templates would replace the recorded cluster or a resource that it needs.

    Such templates cannot be deployed afterwards.
    """
    templates = read_templates(assembly)
    [(stack, name)] = _cluster_of(record)
    try:
        problems = [*_differences(record, referenced_by(templates, stack, name)), *_not_uploaded(assembly, record)]
    except LookupError as missing:
        problems = [str(missing.args[0])]
    if problems:
        identity = record.identity
        # A refused assembly must not be deployed from its directory.
        (assembly / "manifest.json").unlink(missing_ok=True)
        raise Refused.of(
            where=f"cluster {record.cluster_id}",
            what=f"would be replaced by what is synthesised for {identity.environment} {identity.cluster}",
            why="\n".join(problems),
            fix=CHANGE_OVER,
        )


def _cluster_of(record: LaunchRecord) -> list[tuple[str, str]]:
    return [
        (stack, name)
        for stack, resources in record.resources.items()
        for name, resource in resources.items()
        if resource.type == CLUSTER_TYPE
    ]


def _differences(record: LaunchRecord, now: dict[str, dict[str, RecordedResource]]) -> Iterator[str]:
    """Yield each difference with account and region filled in: the file may name its account only after the launch."""
    account, region = record.identity.account, record.identity.region

    def _resolved_value(resource: RecordedResource, key: str) -> object:
        return resolved(resource.properties.get(key), account, region)

    for stack, resources in record.resources.items():
        for name, was in resources.items():
            today = now.get(stack, {}).get(name)
            if today is None or today.type != was.type:
                yield f"{stack}: {name}, {was.type}, is gone"
                continue
            for key in sorted(was.properties.keys() | today.properties.keys()):
                if _resolved_value(was, key) != _resolved_value(today, key):
                    yield f"{stack}: {name}, {was.type}: {key} differs"


def _not_uploaded(assembly: Path, record: LaunchRecord) -> Iterator[str]:
    """Yield the bootstrap files that new nodes need and that the assembly does not upload."""
    [(stack, name)] = _cluster_of(record)
    actions = json.dumps(record.resources[stack][name].properties.get("BootstrapActions", []))
    for digest, suffix in sorted(set(UPLOADED.findall(actions))):
        if not (assembly / f"asset.{digest}{suffix}").exists():
            yield f"{stack}: a bootstrap file is no longer uploaded, {digest}{suffix}"
