"""Hypothesis strategies for cluster specifications that every interface of EMR can state, and their form in two."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from warmbase.emr.api import write_run_job_flow
from warmbase.emr.cloudformation import write_classifications, write_group, write_text
from warmbase.emr.cluster_spec import (
    GROUPS,
    BootstrapAction,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Setting,
    Settings,
    classifications_of,
)

NAMES = st.sampled_from(["hbase", "hbase-site", "hbase-env", "core-site", "emr-metrics", "yarn-site"])
PATHS = st.one_of(NAMES, NAMES.map(lambda name: f"{name}/export"))
KEYS = st.from_regex(r"[a-z][a-z.]{0,8}", fullmatch=True)
TEXTS = st.lists(
    st.sampled_from(["a", " ", '"', "=", "/", "${AWS::AccountId}", "${hbase.tmp.dir}", "${!b}", "$HOME", "1"]),
    max_size=5,
).map("".join)
WORDS = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
OPTIONAL = st.none() | st.integers(1, 9_999)


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    """Draw the settings of a cluster or of a group."""
    values = draw(st.dictionaries(st.tuples(PATHS, KEYS), TEXTS, max_size=6))
    return {(path, key): Setting(classification=path, key=key, value=value) for (path, key), value in values.items()}


VOLUMES = st.builds(
    EbsVolume,
    type=st.sampled_from(["gp3", "io2"]),
    size_gib=st.integers(1, 16_384),
    iops=OPTIONAL,
    throughput_mib_s=OPTIONAL,
    count=st.integers(1, 4),
)


def groups(role: str) -> st.SearchStrategy[InstanceGroup]:
    """Return a strategy for instance groups of that role."""
    return st.builds(
        InstanceGroup,
        role=st.just(role),
        instance_type=st.sampled_from(["m8g.xlarge", "r8g.2xlarge"]),
        count=st.integers(0, 200),
        volumes=st.lists(VOLUMES, max_size=3).map(tuple),
        settings=settings(),
    )


ACTIONS = st.builds(
    BootstrapAction, name=WORDS, script=WORDS.map("s3://bucket/{}".format), arguments=st.lists(TEXTS).map(tuple)
)
CLUSTERS = st.builds(
    ClusterSpec,
    source=st.just("test"),
    name=WORDS,
    release_label=st.just("emr-7.12.0"),
    os_release=st.none() | WORDS,
    applications=st.lists(WORDS, unique=True).map(tuple),
    settings=settings(),
    groups=st.tuples(groups("primary"), groups("core"))
    | st.tuples(groups("primary"), groups("core"), groups("task"), groups("task")),
    bootstrap_actions=st.lists(ACTIONS, max_size=2).map(tuple),
)


def template_properties(spec: ClusterSpec) -> dict[str, Any]:
    """Return the properties of an AWS::EMR::Cluster that state the same."""
    identity = {"Name": spec.name, "ReleaseLabel": spec.release_label, "OSReleaseLabel": spec.os_release}
    instances: dict[str, Any] = {}
    for group in spec.groups:
        key, value = GROUPS[group.role].cloudformation, write_group(group)
        instances[key] = [*instances.get(key, ()), value] if group.role == "task" else value
    return {
        **{key: value for key, value in identity.items() if value is not None},
        "Applications": [{"Name": name} for name in spec.applications],
        "Configurations": write_classifications(classifications_of(spec.settings)),
        "BootstrapActions": [
            {
                "Name": action.name,
                "ScriptBootstrapAction": {
                    "Path": write_text(action.script),
                    "Args": list(map(write_text, action.arguments)),
                },
            }
            for action in spec.bootstrap_actions
        ],
        "Instances": instances,
    }


def command_words(spec: ClusterSpec) -> list[str]:
    """Return the words of `aws emr create-cluster` that state the same, as far as lint reads them."""
    request = write_run_job_flow(spec)
    groups = [
        {"InstanceGroupType" if key == "InstanceRole" else key: value for key, value in group.items()}
        for group in request["Instances"]["InstanceGroups"]
    ]
    return [
        *("aws", "emr", "create-cluster", "--name", spec.name or "", "--release-label", spec.release_label or ""),
        *(["--applications"] if spec.applications else []),
        *(f"Name={name}" for name in spec.applications),
        *("--configurations", json.dumps(request["Configurations"]), "--instance-groups", json.dumps(groups)),
    ]
