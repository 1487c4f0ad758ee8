"""The HBase roots that a cluster of any tool writes to, as EMR lists its configurations."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from environments.root import Root
from operations.aws import Aws

OBJECT_STORE: Final = re.compile(r"s3[an]?://(?P<bucket>[^/]+)(?P<path>/.*)?", re.IGNORECASE)
"""All three schemes reach the same objects: EMRFS takes each of them, and S3A `s3a`."""
FLEETS: Final = "INSTANCE_FLEET"


def writes_to(aws: Aws, cluster: str, root: Root) -> bool:
    """Return whether a node of the cluster writes to the root, or to one inside or around it. Raises botocore's errors.

    A group's own settings replace the cluster's, for the root and for the mode of a read replica.
    """
    own = root.bucket_in(aws.account), posixpath.normpath(f"/{root.prefix}")
    return any(
        settings.get("hbase.emr.readreplica.enabled", "").strip().lower() != "true"
        and _overlap(own, _place(settings.get("hbase.rootdir", "")))
        for settings in _settings_of_nodes(aws, cluster)
    )


def _place(url: str) -> tuple[str, str] | None:
    """Return bucket and path of a root in S3, without repeated slashes; None for a root elsewhere."""
    place = OBJECT_STORE.fullmatch(url.strip())
    return (place["bucket"], posixpath.normpath(f"/{(place['path'] or '').strip('/')}")) if place else None


def _overlap(one: tuple[str, str], other: tuple[str, str] | None) -> bool:
    if other is None or one[0] != other[0]:
        return False
    first, second = (f"{path.rstrip('/')}/" for path in (one[1], other[1]))
    return first.startswith(second) or second.startswith(first)


def _settings_of_nodes(aws: Aws, cluster: str) -> Iterator[Mapping[str, str]]:
    """Yield the properties of each kind of node: those that EMR last applied, and those that it is to apply."""
    described: Any = aws.emr.describe_cluster(ClusterId=cluster)["Cluster"]
    common, is_listed = _properties(described.get("Configurations", ())), False
    for configurations in _of_groups(aws, cluster, fleets=described.get("InstanceCollectionType") == FLEETS):
        is_listed = True
        yield {**common, **_properties(configurations)}
    if not is_listed:
        yield common


def _of_groups(aws: Aws, cluster: str, *, fleets: bool) -> Iterator[Iterable[Any]]:
    if fleets:
        for page in aws.emr.get_paginator("list_instance_fleets").paginate(ClusterId=cluster):
            for fleet in page["InstanceFleets"]:
                for instance_type in fleet.get("InstanceTypeSpecifications", ()):
                    yield instance_type.get("Configurations", ())
        return
    for listed in aws.emr.get_paginator("list_instance_groups").paginate(ClusterId=cluster):
        for group in listed["InstanceGroups"]:
            yield group.get("Configurations", ())
            if "LastSuccessfullyAppliedConfigurations" in group:
                yield group["LastSuccessfullyAppliedConfigurations"]


def _properties(configurations: Iterable[Any]) -> dict[str, str]:
    """Return the properties of all classifications, and of those inside them."""
    properties: dict[str, str] = {}
    for classification in configurations:
        properties |= classification.get("Properties", {})
        properties |= _properties(classification.get("Configurations", ()))
    return properties
