"""Tags on an EMR cluster that make the local AWS fail on purpose; they also work through the server.

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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_aws.moto_internals import Untyped

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
