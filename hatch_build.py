"""Refuses any build but the editable one: the folders' flat names (`lab`, `cli`) belong in nobody's site-packages."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EditableOnly(BuildHookInterface[Any]):
    """Lets `make setup` install the checkout, and stops `pip install .` with the reason."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface's own
        """Raise unless the build is the editable one of a checkout."""
        if version != "editable":
            message = "warmbase runs from a checkout: clone it and run `make setup`, which installs it as editable"
            raise RuntimeError(message)
