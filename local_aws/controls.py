"""Controls of the local AWS: the readings that it plays, tags that make it fail, and its time of day.

Some statements of AWS's documents can be read in two ways. The local AWS usually plays the reading that most documents
suggest. `python -m local_aws --readings worse`, or `set_worse()` in this process, makes it play the worse one of every
statement, so that a rehearsal shows what the commands do then. docs/unconfirmed.md shows this list.

Tests move the time of day forward: schedules fire and modifications end by it.

Tags on an EMR cluster make the local AWS fail on purpose; they also work through the server:

| tag                         | value                   | effect                                                       |
| --------------------------- | ----------------------- | ------------------------------------------------------------ |
| `local-aws:bootstrap`       | `fail`                  | at launch: the cluster ends TERMINATED_WITH_ERRORS, or keeps |
|                             |                         | its nodes where it is protected from termination             |
| `local-aws:protected-failure` | a state               | the state of such a cluster: the documents do not name it    |
| `local-aws:reconfiguration` | `revert`                | reconfigurations fail and are reverted: RUNNING, as before   |
|                             | `SUSPENDED`, `ARRESTED` | reconfigurations fail, so do the reverts: that group state   |
|                             | `stuck`                 | groups stay RECONFIGURING until the tag changes or goes      |
| `local-aws:step`            | `FAILED`, `COMPLETED`   | steps end so, and nothing runs                               |
| `local-aws:hbase`           | as in stand-ins/        | what is wrong with the HBase that the stand-ins answer for   |
| `local-aws:emr-defaults`    | `merge`                 | nodes have defaults of EMR below the rendered properties     |
| `local-aws:alarm-actions`   | `refuse`                | the key of the topic refuses CloudWatch: actions fail        |
|                             | `lose`, `silent`        | SNS delivers no message, or has no metrics of one            |
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from local_aws.moto_internals import Untyped


class Reading(Struct, frozen=True, kw_only=True):
    """A statement, by the words with which its row in docs/unconfirmed.md begins, and what the local AWS plays.

    `usual` is empty where the local AWS always plays the worse reading.
    """

    statement: str
    usual: str
    worse: str


READINGS: Final = (
    Reading(
        statement="An update of the cluster's stack that does not state `TerminationProtected`",
        usual="the update leaves EMR's termination protection alone",
        worse="the update lifts it",
    ),
    Reading(
        statement="EMR describes a cluster, with its tags, until at least two months after its end",
        usual="a cluster that has ended is described for good",
        worse="a cluster is described without its tags as soon as it has ended",
    ),
    Reading(
        statement="EMR describes a cluster's applications, volumes, classifications and bootstrap arguments exactly",
        usual="the applications and the log URI are described as they were requested",
        worse="EMR adds Hadoop and ZooKeeper to the applications and writes s3n:// in the log URI",
    ),
    Reading(
        statement="`ConfigurationsVersion` of an instance group moves when a reconfiguration is requested",
        usual="the version moves with the request",
        worse="the version moves only when the reconfiguration has been applied",
    ),
    Reading(
        statement="A reconfiguration that EMR reverts leaves `LastSuccessfullyAppliedConfigurationsVersion`",
        usual="the version that failed stays the requested one",
        worse="EMR applies the previous settings as one more version",
    ),
    Reading(
        statement="After `hbase master stop --shutDownCluster`, systemd does not start HBase again",
        usual="HBase stays down after its ordered stop",
        worse="HBase comes back at once, until its units are stopped by request",
    ),
    Reading(
        statement="A command that locks an environment within 30 s after another command removed its lock",
        usual="a parameter can be created as soon as the one of that name is deleted",
        worse="for a second after the deletion, Systems Manager says that the parameter still exists",
    ),
    Reading(
        statement="A one-time mute rule whose `at()` is the current minute is `ACTIVE` within 30 seconds",
        usual="a rule is active from its `at()` on, even if that time has passed",
        worse="a rule whose `at()` has passed is `EXPIRED` at once, and mutes nothing",
    ),
    Reading(
        statement="EC2 accepts a modification that changes nothing, or refuses it without harm",
        usual="EC2 accepts it, and it counts as a modification",
        worse="EC2 refuses it",
    ),
    Reading(
        statement="An EventBridge schedule restores a volume, with the role and the tag that warmbase creates",
        usual="",
        worse="a call of a schedule that EC2 refuses is not tried again",
    ),
    Reading(
        statement="While a volume is `modifying`, EC2 may describe it as before",
        usual="a modification is `optimizing` at once, and the volume is described as it will be",
        worse="it is `modifying` for a quarter of the time, and the volume is described as before",
    ),
    Reading(
        statement="EC2 and EMR show within a minute what they have accepted",
        usual="each description is of the present",
        worse="for two seconds after a write, volumes, clusters, groups and nodes are described as before",
    ),
    Reading(
        statement="EC2 and EMR refuse a throttled call for a shorter time than warmbase repeats it",
        usual="no call is throttled",
        worse="the first call of each operation of EC2 and EMR is throttled, and each fifth from then on",
    ),
    Reading(
        statement="A cluster with three primaries whose claim fails keeps its nodes",
        usual="",
        worse="the cluster is `TERMINATING`, and ends only when its protection is lifted and it is terminated again",
    ),
)

_worse: list[bool] = [False]


def are_worse() -> bool:
    """Return whether this process plays the worse readings."""
    return _worse[0]


def set_worse() -> None:
    """Set this process to the worse readings."""
    _worse[0] = True


BOOTSTRAP = "local-aws:bootstrap"
PROTECTED_FAILURE = "local-aws:protected-failure"
RECONFIGURATION = "local-aws:reconfiguration"
STEP = "local-aws:step"
HBASE = "local-aws:hbase"
EMR_DEFAULTS = "local-aws:emr-defaults"
ALARM_ACTIONS = "local-aws:alarm-actions"


def control(cluster: Untyped, tag: str) -> str | None:
    """Return the value of a control tag on the cluster, None without it."""
    values = [entry["Value"] for entry in cluster.tags if entry["Key"] == tag]
    return str(values[0]) if values else None


_ahead: Final = [timedelta()]


def now() -> datetime:
    """Return the time of the local AWS, in UTC."""
    return datetime.now(UTC) + _ahead[0]


def advance(seconds: float) -> None:
    """Move the clock forward."""
    _ahead[0] += timedelta(seconds=seconds)


def reset() -> None:
    """Set the clock to the time of this machine again."""
    _ahead[0] = timedelta()
