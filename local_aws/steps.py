"""EMR steps. A step is RUNNING at its first description, and ends at its second: `bash -c` steps run there.

One that takes longer than a client waits for an answer stays RUNNING, and ends at a later description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.emr.models import Cluster, ElasticMapReduceBackend
from moto.emr.responses import ElasticMapReduceResponse

from local_aws import nodes
from local_aws.control_tags import STEP, control
from local_aws.core_nodes import hbase_of
from local_aws.moto_internals import replace, request_parameter, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_aws.moto_internals import Untyped


def install() -> None:
    """Let moto's steps end, and its clusters return to WAITING."""
    wrap(ElasticMapReduceBackend, "describe_step", _visible_state)
    wrap(Cluster, "add_steps", _added)
    replace(ElasticMapReduceResponse, "cancel_steps", _cancelled)


def _added(original: Callable[..., Untyped], cluster: Untyped, steps: Untyped) -> Untyped:
    before = getattr(cluster, "state", None)
    added = original(cluster, steps)
    cluster.state = "RUNNING" if steps else before
    for step in added:
        step.looks, step.program = 0, None
    return added


def _cancelled(response: Untyped) -> Untyped:
    """Answer CancelSteps, which cancels steps that wait, and interrupts those that run."""
    steps = response.backend.clusters[request_parameter(response, "ClusterId")].steps
    wanted = request_parameter(response, "StepIds", [])
    answer = []
    for step in (candidate for candidate in steps if candidate.id in wanted):
        if step.state in {"PENDING", "RUNNING"}:
            step.state, step.end_date_time = "CANCELLED", utcnow()
            answer.append({"StepId": step.id, "Status": "SUBMITTED"})
        else:
            reason = f"it is {step.state}"
            answer.append({"StepId": step.id, "Status": "FAILED", "Reason": reason})
    return ActionResult({"CancelStepsInfoList": answer})


def _visible_state(
    original: Callable[..., Untyped], backend: Untyped, cluster_id: str, *rest: Untyped, **named: Untyped
) -> Untyped:
    cluster = backend.clusters[cluster_id]
    for step in cluster.steps:
        _advance(cluster, step)
    if cluster.state == "RUNNING" and all(step.end_date_time for step in cluster.steps):
        cluster.state = "WAITING"
    return original(backend, cluster_id, *rest, **named)


def _advance(cluster: Untyped, step: Untyped) -> None:
    step.looks += 1
    if step.end_date_time is not None:
        return
    if step.looks == 1:
        step.state, step.start_date_time = "RUNNING", utcnow()
        return
    behaviour = control(cluster, STEP)
    if behaviour or not (nodes.has_nodes() and step.args[:2] == ["bash", "-c"]):
        step.state, step.end_date_time = behaviour or "COMPLETED", utcnow()
    elif step.program is None:
        step.program = nodes.run_beside(lambda: _run(cluster, step))
    else:
        step.program.join(nodes.ANSWER_SECONDS)


def _run(cluster: Untyped, step: Untyped) -> None:
    step_run = nodes.StepRun(
        region=cluster.emr_backend.region_name,
        cluster_id=cluster.id,
        step_id=step.id,
        log_uri=cluster.log_uri,
        hbase=hbase_of(cluster),
    )
    succeeded = False
    try:
        succeeded = step_run.run(step.args)
    finally:
        if step.end_date_time is None:  # it was not cancelled meanwhile
            step.state, step.end_date_time = "COMPLETED" if succeeded else "FAILED", utcnow()
