"""install(): what this package adds to moto, applied once to this process, for its server and for mock_aws alike."""

from __future__ import annotations

from functools import cache

from local_aws import (
    aws_managed_policies,
    bucket_configurations,
    bucket_permissions,
    change_set_requests,
    cluster_policies,
    clusters,
    composite_alarms,
    instance_groups,
    resolution,
    stack_drift,
    stack_requests,
    steps,
    template_urls,
)


@cache
def install() -> None:
    """Extends moto in this process; calling it again does nothing."""
    for part in (
        instance_groups,
        clusters,
        composite_alarms,
        cluster_policies,
        steps,
        aws_managed_policies,
        bucket_configurations,
        bucket_permissions,
        template_urls,
        resolution,
        stack_requests,
        stack_drift,
        change_set_requests,
    ):
        part.install()
