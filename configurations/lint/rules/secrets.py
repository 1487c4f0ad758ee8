"""WB9..: nothing secret in a configuration: whoever may describe the cluster reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from configurations.lint.finding import Severity
from configurations.lint.node import Node
from configurations.lint.rule import Found, Rule

__all__ = ["SECRETS"]

CREDENTIAL_KEY: Final = re.compile(
    r"(access\.?key|secret\.?key|session\.?token|awsAccessKeyId|awsSecretAccessKey|AWS_ACCESS_KEY_ID|"
    r"AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN)$",
    re.IGNORECASE,
)
CREDENTIAL_OPTION: Final = re.compile(
    r"-D[\w.]*(access\.key|secret\.key|session\.token|awsSecretAccessKey)=", re.IGNORECASE
)
ACCESS_KEY_ID: Final = re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b")


def _static_credentials(node: Node) -> Iterator[Found]:
    for (_, key), setting in node.settings.items():
        stated = ACCESS_KEY_ID.search(setting.value) or CREDENTIAL_OPTION.search(setting.value)
        if CREDENTIAL_KEY.search(key) or stated:
            yield Found(at=setting, message=f"{key} {'is for' if setting.is_gap else 'holds'} a credential")


SECRETS: Final = (
    Rule(
        id="WB901",
        severity=Severity.ERROR,
        what="a static credential",
        check=_static_credentials,
        roles=("primary", "core"),
        because="DescribeCluster shows it, logs keep it, and nobody rotates it",
        fix="remove it: nodes have the instance profile's role",
        source="EMR Management Guide, emr-iam-role-for-ec2",
    ),
)
