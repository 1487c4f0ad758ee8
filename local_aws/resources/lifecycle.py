"""A bucket's lifecycle rules: CloudFormation's spelling → S3's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_aws.moto_border import Json

# Properties of a rule that S3 puts inside a structure: property: (structure, member).
INSIDE = {
    "ExpirationInDays": ("Expiration", "Days"),
    "ExpirationDate": ("Expiration", "Date"),
    "ExpiredObjectDeleteMarker": ("Expiration", "ExpiredObjectDeleteMarker"),
    "NoncurrentVersionExpirationInDays": ("NoncurrentVersionExpiration", "NoncurrentDays"),
}
SAME = frozenset({"AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration", "Status"})
DAYS = {"TransitionInDays": "Days", "TransitionDate": "Date", "StorageClass": "StorageClass"}
NONCURRENT_DAYS = {
    "TransitionInDays": "NoncurrentDays",
    "StorageClass": "StorageClass",
    "NewerNoncurrentVersions": "NewerNoncurrentVersions",
}


def api_lifecycle(properties: Json) -> Json:
    """The rules as PutBucketLifecycleConfiguration takes them."""
    return {"Rules": [_rule(rule) for rule in properties["Rules"]]}


def _rule(properties: Json) -> Json:
    rule: Json = {key: value for key, value in properties.items() if key in SAME}
    if "Id" in properties:
        rule["ID"] = properties["Id"]
    for key, (structure, member) in INSIDE.items():
        if key in properties:
            rule.setdefault(structure, {})[member] = properties[key]
    transitions = [_transition(one, DAYS) for one in _listed(properties, "Transition")]
    noncurrent = [_transition(one, NONCURRENT_DAYS) for one in _listed(properties, "NoncurrentVersionTransition")]
    if transitions:
        rule["Transitions"] = transitions
    if noncurrent:
        rule["NoncurrentVersionTransitions"] = noncurrent
    rule["Filter"] = _filter(properties)
    aborted = rule.get("AbortIncompleteMultipartUpload")
    if isinstance(aborted, dict):
        rule["AbortIncompleteMultipartUpload"] = {"DaysAfterInitiation": aborted["DaysAfterInitiation"]}
    return rule


def _listed(properties: Json, name: str) -> list[Json]:
    alone = [properties[name]] if name in properties else []
    return alone + list(properties.get(f"{name}s", []))


def _transition(properties: Json, names: dict[str, str]) -> Json:
    return {names[key]: value for key, value in properties.items()}


def _filter(properties: Json) -> Json:
    conditions: Json = {}
    if properties.get("Prefix"):
        conditions["Prefix"] = properties["Prefix"]
    for key in ("ObjectSizeGreaterThan", "ObjectSizeLessThan"):
        if key in properties:
            conditions[key] = properties[key]
    tags = properties.get("TagFilters", [])
    if len(tags) + len(conditions) > 1:
        return {"And": {**conditions, "Tags": tags} if tags else conditions}
    if tags:
        return {"Tag": tags[0]}
    return conditions or {"Prefix": ""}
