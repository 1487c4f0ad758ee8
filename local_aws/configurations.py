"""EMR configurations: CloudFormation's spelling → the API's, and what a reconfiguration makes of the ones before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_aws.moto_border import Json


def api_configurations(configurations: Sequence[Json]) -> list[Json]:
    """Return the same configurations with `Properties` for `ConfigurationProperties`, nested ones too."""
    return [
        configuration(
            one["Classification"], one.get("ConfigurationProperties"), api_configurations(one.get("Configurations", []))
        )
        for one in configurations
    ]


def plain_configurations(configurations: Sequence[Json] | None) -> list[Json]:
    """Configurations in the API's spelling with every part present: properties are empty rather than absent."""
    return [
        configuration(one["Classification"], one.get("Properties"), plain_configurations(one.get("Configurations")))
        for one in configurations or []
    ]


def merged_configurations(current: Sequence[Json], submitted: Sequence[Json]) -> list[Json]:
    """ReconfigurationType MERGE: submitted properties join the current ones, per classification, nested too."""
    merged = {one["Classification"]: one for one in current}
    for one in submitted:
        before = merged.get(one["Classification"], configuration(one["Classification"], None, []))
        merged[one["Classification"]] = configuration(
            one["Classification"],
            {**before["Properties"], **one["Properties"]},
            merged_configurations(before.get("Configurations", []), one.get("Configurations", [])),
        )
    return list(merged.values())


def configuration(classification: str, properties: Json | None, nested: list[Json]) -> Json:
    """One configuration in the API's spelling; values are text, as EMR keeps them."""
    made: Json = {
        "Classification": classification,
        "Properties": {key: _text(value) for key, value in (properties or {}).items()},
    }
    if nested:
        made["Configurations"] = nested
    return made


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
