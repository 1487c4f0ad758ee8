"""Resources that were edited by hand since they were deployed, as CloudFormation's drift detection finds them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from emr.codecs.cloudformation import CLUSTER_TYPE
from environments.names import stacks_around
from operations.aws import Aws
from operations.comparison import Comparison
from sizing.problem import OperationFailed

"""It is compared in full with what EMR says: it is tuned beside CloudFormation, which would call that drift."""
# judgement: CloudFormation takes seconds to minutes for a stack of this size.
DETECTION_SECONDS: Final = 300.0
POLL_SECONDS: Final = 2.0


def stack_edits(aws: Aws, environment: str, cluster_name: str) -> Iterator[Comparison]:
    """For each stack of that cluster: how many resources CloudFormation can look at, and those edited or gone.

    Raises OperationFailed where CloudFormation cannot say, botocore's errors where it does not answer.
    """
    names = stacks_around(environment, cluster_name)
    began = {name: aws.cloudformation.detect_stack_drift(StackName=name)["StackDriftDetectionId"] for name in names}
    deadline = time.monotonic() + DETECTION_SECONDS
    for name, detection in began.items():
        _wait(aws, name, detection, deadline)
        drifts = [drift for drift in _drifts(aws, name) if drift["ResourceType"] != CLUSTER_TYPE]
        checked = [drift for drift in drifts if drift["StackResourceDriftStatus"] != "NOT_CHECKED"]
        differences = tuple(line for drift in checked for line in _differences(drift))
        yield Comparison(subject=name, facts=len(checked), differences=differences)


def _drifts(aws: Aws, stack: str) -> Iterator[Mapping[str, Any]]:
    """Page by page: botocore has no paginator for it."""
    more: dict[str, Any] = {}
    while True:
        page: Any = aws.cloudformation.describe_stack_resource_drifts(StackName=stack, **more)
        yield from page["StackResourceDrifts"]
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


def _wait(aws: Aws, stack: str, detection: str, deadline: float) -> None:
    while True:
        answer = aws.cloudformation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
        if answer["DetectionStatus"] == "DETECTION_COMPLETE":
            return
        why = answer.get("DetectionStatusReason", "no reason given")
        if answer["DetectionStatus"] == "DETECTION_FAILED":
            raise OperationFailed.of(
                where=f"stack {stack}",
                what="CloudFormation could not detect drift",
                why=why,
                fix="run the same command again",
            )
        if time.monotonic() > deadline:
            raise OperationFailed.of(
                where=f"stack {stack}",
                what=f"CloudFormation has not finished detecting drift after {DETECTION_SECONDS:.0f} s",
                why="",
                fix="run the same command again",
            )
        time.sleep(POLL_SECONDS)


def _differences(resource: Mapping[str, Any]) -> Iterator[str]:
    what = f"{resource['LogicalResourceId']}, {resource['ResourceType']}"
    if resource["StackResourceDriftStatus"] == "DELETED":
        yield f"{what}: deleted"
    for difference in resource.get("PropertyDifferences", ()):
        expected, actual = difference["ExpectedValue"], difference["ActualValue"]
        yield f"{what} {difference['PropertyPath']}: deployed {expected}, found {actual}"
