"""Changes of a change set that would lose something, as CloudFormation describes them."""

from __future__ import annotations

from typing import Any

import pytest

from warmbase.operations.cluster.protection import RETAINED_TYPES
from warmbase.operations.deploy.change_set import losses


def change(kind: str, action: str, replacement: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {"LogicalResourceId": "It", "ResourceType": kind, "Action": action}
    if replacement is not None:
        said["Replacement"] = replacement
        said["Details"] = [{"Target": {"Attribute": "Properties", "Name": "ReleaseLabel"}}]
    return {"Type": "Resource", "ResourceChange": said}


@pytest.mark.parametrize("kind", sorted(RETAINED_TYPES))
@pytest.mark.parametrize(
    ("action", "replacement", "said"),
    [
        ("Modify", "True", "It, {}: replacement true, by ReleaseLabel"),
        ("Modify", "Conditional", "It, {}: replacement conditional, by ReleaseLabel"),
        ("Modify", None, "It, {}: replacement not ruled out, by "),
        ("Remove", None, "It, {}: remove"),
        ("Dynamic", None, "It, {}: dynamic"),
    ],
)
def test_what_is_kept_is_neither_replaced_nor_removed(
    kind: str, action: str, replacement: str | None, said: str
) -> None:
    assert list(losses([change(kind, action, replacement)])) == [said.format(kind)]


@pytest.mark.parametrize(
    "harmless",
    [
        change("AWS::EMR::Cluster", "Add"),
        change("AWS::EMR::Cluster", "Modify", "False"),
        change("AWS::CloudWatch::Alarm", "Modify", "True"),
        change("AWS::EC2::SecurityGroupIngress", "Remove"),
    ],
)
def test_what_loses_nothing_passes(harmless: dict[str, Any]) -> None:
    assert list(losses([harmless])) == []
