"""Checks that run before a deployment: each finds a problem that would make it fail later, or lose data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from configurations.launch import Launch
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from operations.aws import Aws
from operations.aws_errors import translated
from operations.preflight.account import ACCOUNT_CHECKS
from operations.preflight.check import PreflightCheck, PreflightContext
from operations.preflight.network import NETWORK_CHECKS
from operations.preflight.root import ROOT_CHECKS
from sizing.problem import Problem, Refused

__all__ = ["PreflightCheck", "preflight", "refuse_unready"]


def preflight(
    aws: Aws,
    environment: Environment,
    launches: Mapping[str, Launch],
    records: Mapping[str, LaunchRecord],
) -> Iterator[PreflightCheck]:
    """Yield each check when it is complete. Raises OperationFailed where AWS does not answer."""
    context = PreflightContext(aws=aws, environment=environment, launches=launches, records=records)
    for check in (*ACCOUNT_CHECKS, *ROOT_CHECKS, *NETWORK_CHECKS):
        with translated(f"could not check whether {environment.name} can be deployed", "run the same command again"):
            yield from check(context)


def refuse_unready(checks: Iterable[PreflightCheck]) -> None:
    """Refuse to continue where a check has a problem: raises Refused with all of them."""
    bad = [check for check in checks if check.problem]
    if bad:
        raise Refused(Problem(where=check.name, what=check.detail, why=check.problem, fix=check.fix) for check in bad)
