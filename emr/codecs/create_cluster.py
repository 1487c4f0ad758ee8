"""A cluster as `aws emr create-cluster` takes it: options whose values are JSON.

`lint/reader` reads what people write instead: shell scripts with the CLI's shorthand, placeholders and comments, each
value with its line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from emr.cluster_spec import ClusterSpec
from emr.codecs.api import read_run_job_flow, write_run_job_flow

COMMAND: Final = ("aws", "emr", "create-cluster")
TEXTS: Final = {"Name": "--name", "ReleaseLabel": "--release-label", "OSReleaseLabel": "--os-release-label"}


def write_create_cluster(cluster: ClusterSpec) -> tuple[str, ...]:
    """Return the words of the command that states the same."""
    request = write_run_job_flow(cluster)
    groups = [_renamed(group, "InstanceRole", "InstanceGroupType") for group in request["Instances"]["InstanceGroups"]]
    actions = [
        {"Name": action["Name"], **action["ScriptBootstrapAction"]} for action in request.get("BootstrapActions", ())
    ]
    values = {"--configurations": request["Configurations"], "--instance-groups": groups}
    if actions:
        values["--bootstrap-actions"] = actions
    return (
        *COMMAND,
        *(word for key, option in TEXTS.items() if key in request for word in (option, request[key])),
        *(["--applications"] if cluster.applications else []),
        *(f"Name={name}" for name in cluster.applications),
        *(word for option, value in values.items() for word in (option, json.dumps(value))),
    )


def read_create_cluster(words: Sequence[str], source: str) -> ClusterSpec:
    """The cluster that the words of a command state. Raises ValueError for another command."""
    if tuple(words[:3]) != COMMAND:
        raise ValueError(f"no {' '.join(COMMAND)}: {' '.join(words[:3])}")
    options = dict(_options(words[3:]))
    groups = json.loads(" ".join(options.get("--instance-groups", ["[]"])))
    actions = json.loads(" ".join(options.get("--bootstrap-actions", ["[]"])))
    request = {
        **{key: " ".join(options[option]) for key, option in TEXTS.items() if option in options},
        "Applications": [{"Name": word.removeprefix("Name=")} for word in options.get("--applications", ())],
        "Configurations": json.loads(" ".join(options.get("--configurations", ["[]"]))),
        "BootstrapActions": [
            {
                "Name": action["Name"],
                "ScriptBootstrapAction": {"Path": action["Path"], "Args": action.get("Args", [])},
            }
            for action in actions
        ],
        "Instances": {"InstanceGroups": [_renamed(group, "InstanceGroupType", "InstanceRole") for group in groups]},
    }
    return read_run_job_flow(request, source)


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each option with the words that follow it."""
    starts = [number for number, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        yield words[start], list(words[start + 1 : end])


def _renamed(group: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in group.items()}
