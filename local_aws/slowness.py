"""AWS at its slowest, for clients of the local AWS under the worse readings (`controls.py`).

For a while after a write, EC2 and EMR describe volumes, clusters, groups and nodes as they did before it. They throttle
calls: the first of each operation, and every fifth from then on. The local AWS itself, and the programs on its nodes,
which do not repeat a call, are never slowed down.

In both readings, EC2 refuses a call whose filters have more values than it accepts. Source: EC2 Developer Guide,
eventual-consistency and ec2-api-throttling; EC2 API Reference, API error codes (FilterLimitExceeded); EMR API
Reference, Common errors.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses._base_response import EC2BaseResponse

from local_aws import controls
from local_aws.moto_internals import OWN_CALLS, Untyped, request_action, wrap

LAG_SECONDS: Final = 2.0
THROTTLED_EACH: Final = 5
MOST_FILTER_VALUES: Final = 200
LAGGING: Final = {
    "ec2": frozenset({"DescribeVolumes", "DescribeVolumesModifications"}),
    "emr": frozenset({"DescribeCluster", "ListInstances", "ListInstanceGroups"}),
}
THROTTLING: Final = {
    "ec2": ("RequestLimitExceeded", "Request limit exceeded."),
    "emr": ("ThrottlingException", "Rate exceeded"),
}

_calls: Final = Counter[tuple[str, str]]()
_written: Final = dict[str, float]()
_answers: Final = dict[tuple[str, ...], tuple[float, Untyped]]()


def install() -> None:
    """Slow down the calls of clients, and refuse filters with too many values."""
    wrap(BaseResponse, "call_action", _slow_answer)
    wrap(EC2BaseResponse, "_filters_from_querystring", _limited)


def _slow_answer(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    service, agent = response.service_name, str(response.headers.get("User-Agent"))
    if not controls.are_worse() or service not in LAGGING or "Botocore" not in agent or OWN_CALLS in agent:
        return original(response)
    action, now = request_action(response), time.monotonic()
    _calls[service, action] += 1
    if _calls[service, action] % THROTTLED_EACH == 1:
        # moto learns the service of an error from the module of its class.
        refusal = type("Throttled", (ServiceException,), {"__module__": type(response).__module__})
        return response.serialized(ActionResult(refusal(*THROTTLING[service])))
    if not action.startswith(("Describe", "Get", "List")):
        _written[service] = now
    if action not in LAGGING[service]:
        return original(response)
    question = (service, action, response.current_account, response.region, repr(response.body))
    at, answer = _answers.get(question, (now, None))
    written = _written.get(service, 0.0)
    if at < written and now - written < LAG_SECONDS:
        return answer
    answer = original(response)
    _answers[question] = (now, answer)
    return answer


def _limited(original: Callable[..., dict[str, list[str]]], response: Untyped) -> dict[str, list[str]]:
    filters = original(response)
    if sum(map(len, filters.values())) > MOST_FILTER_VALUES:
        message = f"The maximum number of filter values specified on a single call is {MOST_FILTER_VALUES}"
        raise EC2ClientError("FilterLimitExceeded", message)
    return filters
