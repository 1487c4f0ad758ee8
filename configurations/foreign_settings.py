"""The settings of another cluster that can be overrides: not secret, and left alone by warmbase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from warmbase.configurations.launch import is_applicable
from warmbase.configurations.properties import RENDERED
from warmbase.emr.cluster_spec import ClusterSpec, Setting
from warmbase.environments.environment import PINNED, PLANNED, Override
from warmbase.facts.keys import current_key

OURS: Final = ("hbase-env", "emr-metrics")
"""Classifications of which warmbase sets the Java options, and the metrics for its dashboards."""

COPROCESSORS: Final = (
    "hbase.coprocessor.master.classes",
    "hbase.coprocessor.region.classes",
    "hbase.coprocessor.regionserver.classes",
)
"""Lists of classes that warmbase renders only for a cluster with Kerberos, which a draft does not have."""


def foreign_settings(spec: ClusterSpec, is_secret: Callable[[str, str], bool]) -> dict[str, dict[str, str]]:
    """Return the properties on core nodes that an environment file can have as overrides, by classification.

    A property that warmbase renders is ours to choose, and a secret must not be copied into another file.
    """
    overrides: dict[str, dict[str, str]] = {}
    for setting in _foreign(spec):
        if setting.value.strip() and not is_secret(setting.key, setting.value):
            overrides.setdefault(setting.classification, {})[setting.key] = setting.value
    return overrides


def secret_names(spec: ClusterSpec, is_secret: Callable[[str, str], bool]) -> tuple[str, ...]:
    """Return the classification and the key of each such property whose value is a secret."""
    return tuple(
        f"{setting.classification} {setting.key}"
        for setting in _foreign(spec)
        if setting.value.strip() and is_secret(setting.key, setting.value)
    )


def _foreign(spec: ClusterSpec) -> Iterator[Setting]:
    rendered_keys = {entry.key for entry in RENDERED} - set(COPROCESSORS)
    for setting in spec.effective("core").values():
        at = (setting.classification, current_key(setting.key))
        override = Override(classification=setting.classification, key=setting.key, value=setting.value, where="")
        ours = at[1] in rendered_keys or at in PINNED or at in PLANNED or setting.classification.startswith(OURS)
        if not ours and is_applicable(override):
            yield setting
