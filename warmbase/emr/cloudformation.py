"""A cluster in CloudFormation: the properties of AWS::EMR::Cluster, with the texts that CloudFormation fills in.

A text with a pseudo parameter, such as `${AWS::AccountId}`, is `Fn::Sub` in a template. Any other `${...}` belongs to
Hadoop and is escaped there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from warmbase.emr.cluster_spec import (
    GROUPS,
    BootstrapAction,
    Classification,
    ClusterSpec,
    InstanceGroup,
    settings_of,
)
from warmbase.emr.form import Form

CLUSTER_TYPE: Final = "AWS::EMR::Cluster"
SECURITY_TYPE: Final = "AWS::EMR::SecurityConfiguration"
PSEUDO: Final = "${AWS::"
OF_HADOOP: Final = re.compile(r"\$\{(?!AWS::)")
ESCAPED: Final = re.compile(r"\$\{!")
PROPERTIES: Final = "ConfigurationProperties"


def _read_text(value: Any) -> str:  # noqa: ANN401 - a text, a number, or a function of CloudFormation
    """Return the text of a value; a reference to another resource is written as Fn::Sub writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, Mapping):
        return str(value)
    [(function, argument)] = value.items()
    if function == "Fn::Sub":
        return ESCAPED.sub("${", argument if isinstance(argument, str) else argument[0])
    if function == "Fn::Join":
        separator, parts = argument
        return str(separator).join(_read_text(part) for part in parts)
    return f"${{{argument if isinstance(argument, str) else '.'.join(argument)}}}"


def write_text(text: str) -> object:
    """Return the text in the form of a template: `Fn::Sub` if CloudFormation must replace a part of it."""
    return {"Fn::Sub": OF_HADOOP.sub("${!", text)} if PSEUDO in text else text


FORM: Final = Form(properties=PROPERTIES, read_text=_read_text, write_text=write_text)


def read_cluster(properties: Mapping[str, Any], source: str) -> ClusterSpec:
    """Return the cluster that the properties of an AWS::EMR::Cluster state."""
    groups = []
    for role, names in GROUPS.items():
        value = properties.get("Instances", {}).get(names.cloudformation, [])
        groups += [FORM.read_group(role, group) for group in (value if isinstance(value, list) else [value])]
    return ClusterSpec(
        source=source,
        name=properties.get("Name"),
        release_label=properties.get("ReleaseLabel"),
        os_release=properties.get("OSReleaseLabel"),
        applications=tuple(application["Name"] for application in properties.get("Applications", ())),
        settings=settings_of(FORM.read_classifications(properties.get("Configurations"))),
        groups=tuple(groups),
        bootstrap_actions=tuple(
            BootstrapAction(
                name=action["Name"],
                script=_read_text(action["ScriptBootstrapAction"]["Path"]),
                arguments=tuple(map(_read_text, action["ScriptBootstrapAction"].get("Args", ()))),
            )
            for action in properties.get("BootstrapActions", ())
        ),
    )


def write_classifications(classifications: Iterable[Classification]) -> list[dict[str, Any]]:
    """Return the `Configurations` list of a cluster."""
    return FORM.write_classifications(classifications)


def write_group(group: InstanceGroup) -> dict[str, Any]:
    """Return one instance group of on-demand nodes, named for its role."""
    return {**FORM.write_group(group), "Market": "ON_DEMAND", "Name": group.role}


def resolved(value: Any, account: str, region: str) -> Any:  # noqa: ANN401 - any JSON
    """A value of a template with account and region filled in, as CloudFormation would; other references stay."""
    if isinstance(value, list):
        return [resolved(item, account, region) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"Ref"} and value["Ref"] in {"AWS::AccountId", "AWS::Region"}:
        return account if value["Ref"] == "AWS::AccountId" else region
    if value.keys() == {"Fn::Sub"} and isinstance(value["Fn::Sub"], str):
        text = value["Fn::Sub"].replace("${AWS::AccountId}", account).replace("${AWS::Region}", region)
        return {"Fn::Sub": text} if "${" in text else text
    if value.keys() == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        joined = resolved(parts, account, region)
        complete = all(isinstance(part, str) for part in joined)
        return separator.join(joined) if complete else {"Fn::Join": [separator, joined]}
    return {key: resolved(inner, account, region) for key, inner in value.items()}
