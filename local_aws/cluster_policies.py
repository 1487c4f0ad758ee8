"""EMR's managed scaling and auto-termination policies of a cluster, which moto has no operations for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.core.responses import ActionResult, EmptyResult
from moto.emr.responses import ElasticMapReduceResponse

from local_aws.clusters import request_body
from local_aws.moto_border import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.moto_border import Untyped

POLICIES = {"ManagedScalingPolicy": "managed_scaling_policy", "AutoTerminationPolicy": "auto_termination_policy"}


def install() -> None:
    """Adds get, put and remove for both policies, and the list of security configurations."""
    for name, attribute in POLICIES.items():
        replace(ElasticMapReduceResponse, f"get_{attribute}", _get(name, attribute))
        replace(ElasticMapReduceResponse, f"put_{attribute}", _put(name, attribute))
        replace(ElasticMapReduceResponse, f"remove_{attribute}", _remove(attribute))
    replace(ElasticMapReduceResponse, "list_security_configurations", _list_security_configurations)


def _get(name: str, attribute: str) -> Callable[[Untyped], Untyped]:
    def get(response: Untyped) -> Untyped:
        cluster = response.backend.describe_cluster(request_body(response)["ClusterId"])
        return ActionResult({name: getattr(cluster, attribute, None)})

    return get


def _put(name: str, attribute: str) -> Callable[[Untyped], Untyped]:
    def put(response: Untyped) -> Untyped:
        request = request_body(response)
        setattr(response.backend.describe_cluster(request["ClusterId"]), attribute, request[name])
        return EmptyResult()

    return put


def _remove(attribute: str) -> Callable[[Untyped], Untyped]:
    def remove(response: Untyped) -> Untyped:
        setattr(response.backend.describe_cluster(request_body(response)["ClusterId"]), attribute, None)
        return EmptyResult()

    return remove


def _list_security_configurations(response: Untyped) -> Untyped:
    kept = response.backend.security_configurations.values()
    return ActionResult(
        {"SecurityConfigurations": [{"Name": one.name, "CreationDateTime": one.creation_date_time} for one in kept]},
    )
