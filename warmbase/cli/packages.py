"""The packages that an installation may lack, and how to get them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from warmbase.ground.errors import InvalidInput
from warmbase.ground.files import is_checkout

EXTRAS: Final[Mapping[str, str]] = {
    "boto3": "aws",
    "botocore": "aws",
    "aws_cdk": "deploy",
    "constructs": "deploy",
    "jsii": "deploy",
    "cfnlint": "deploy",
}
"""The extra of the wheel that brings a module; in a checkout, `make setup-EXTRA` installs it."""
CHECKOUT_SETS: Final[Mapping[str, str]] = {
    "lab": "lab",
    "local_aws": "demo",
    "moto": "demo",
    "altair": "lab",
    "vl_convert": "lab",
}
"""The set of a checkout that brings a module; no wheel has it."""


def missing_package(command: str, module: str | None) -> InvalidInput | None:
    """Return the error of a command that lacks a module; None where neither an extra nor a checkout brings it."""
    package = (module or "").partition(".")[0]
    if name := EXTRAS.get(package):
        fix = f"run `make setup-{name}`" if is_checkout() else f"pip install 'warmbase[{name}]'"
        return InvalidInput.of(where=command, what=f"needs {package}", why="it is not installed", fix=fix)
    if name := CHECKOUT_SETS.get(package):
        clone = "" if is_checkout() else "clone the repository of warmbase, and in the clone "
        return InvalidInput.of(
            where=command,
            what=f"needs {package}",
            why="it is not installed" if is_checkout() else "only a checkout has it",
            fix=f"{clone}run `make setup-{name}`",
        )
    return None
