"""Template parameters: given by value, or the value before; some of them are names in the Parameter Store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from moto.ssm.models import ssm_backends

if TYPE_CHECKING:
    from local_aws.moto_border import Json, Untyped


def raw_parameters(entries: list[Json], previous: dict[str, str], previous_template: Json) -> dict[str, str]:
    """Return the raw parameter values: of a type AWS::SSM::Parameter::Value<…> the name, never the value behind it."""
    return {entry["ParameterKey"]: _raw_value(entry, previous, previous_template) for entry in entries}


def _raw_value(entry: Json, previous: dict[str, str], previous_template: Json) -> str:
    key = entry["ParameterKey"]
    if not _is_true(entry.get("UsePreviousValue")):
        return str(entry["ParameterValue"])
    if entry.get("ParameterValue"):
        raise ValidationError(
            message=f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true and"
            " non empty value for a parameter",
        )
    declared = previous_template.get("Parameters", {}).get(key, {})
    value = previous.get(key, declared.get("Default"))
    if value is None:
        raise ValidationError(message=f"Invalid parameter input for key {key}: there is no previous value to use")
    return str(value)


def _is_true(flag: object) -> bool:
    return flag is True or str(flag).lower() == "true"


def check_parameters(template: Json, parameters: dict[str, str]) -> None:
    """Raises ValidationError for parameters the template does not have, lacks, or does not allow the value of."""
    declared: Json = template.get("Parameters") or {}
    unknown = sorted(parameters.keys() - declared.keys())
    if unknown:
        raise ValidationError(message=f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    missing = [key for key, body in declared.items() if key not in parameters and "Default" not in body]
    if missing:
        raise ValidationError(message=f"Parameters: [{', '.join(missing)}] must have values")
    for key, body in declared.items():
        value = str(parameters.get(key, body.get("Default")))
        if "AllowedValues" in body and value not in {str(allowed) for allowed in body["AllowedValues"]}:
            raise ValidationError(message=f"Parameter '{key}' must be one of AllowedValues")


def parameter_store_value(resource_map: Untyped, name: str, value_type: str) -> str | list[str]:
    """Return what the Parameter Store holds under the name; raises ValidationError when it holds nothing."""
    account, region = resource_map["AWS::AccountId"], resource_map["AWS::Region"]
    found = ssm_backends[account][region].get_parameter(name)
    if found is None:
        raise ValidationError(
            message=f"Unable to fetch parameters [{name}] from parameter store for this account.",
        )
    return str(found.value).split(",") if "List" in value_type else str(found.value)
