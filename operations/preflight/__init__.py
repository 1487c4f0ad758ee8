"""Checks that run before a deployment: each finds what would make it fail half an hour later, or lose something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from configurations.launch import Launch
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from operations.aws import Aws
from operations.aws_errors import translated
from operations.preflight.account import OF_ACCOUNT
from operations.preflight.check import PreflightCheck, PreflightContext
from operations.preflight.network import OF_NETWORK
from operations.preflight.root import OF_ROOT
from sizing.problem import Problem, Refused

__all__ = ["PreflightCheck", "preflight", "refuse_unready"]


def preflight(
    aws: Aws,
    environment: Environment,
    launches: Mapping[str, Launch],
    records: Mapping[str, LaunchRecord],
) -> Iterator[PreflightCheck]:
    """Each check as it is made. Raises OperationFailed where AWS does not say what must be known."""
    asked = PreflightContext(aws=aws, environment=environment, launches=launches, records=records)
    for check in (*OF_ACCOUNT, *OF_ROOT, *OF_NETWORK):
        with translated(f"could not check whether {environment.name} can be deployed", "run the same command again"):
            yield from check(asked)


def refuse_unready(checks: Iterable[PreflightCheck]) -> None:
    """Raises Refused with every problem that was found."""
    wrong = [check for check in checks if check.problem]
    if wrong:
        raise Refused(Problem(where=check.name, what=check.detail, why=check.problem, fix=check.fix) for check in wrong)
