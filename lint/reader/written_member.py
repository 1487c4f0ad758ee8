"""The place of a setting in an object of JSON, YAML or shorthand, and what goes with it where it is removed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from emr.cluster_spec import Setting
from lint.reader.node import Member, Scalar
from lint.reader.written import Written, WrittenSetting


def written_member(setting: Setting, members: Sequence[Member], index: int) -> WrittenSetting:
    """Return the setting that a member states, with its places."""
    member = members[index]
    value = member.value.written if isinstance(member.value, Scalar) else None
    whole = None
    if member.written and value and len(members) > 1:
        whole = _line(member.written, value) if _is_block(member.written) else _entry(members, index)
    return WrittenSetting(setting=setting, key=member.written, value=value, whole=whole)


def _is_block(key: Written) -> bool:
    """Return whether a key is the first text of a line of YAML, or has no brackets around it."""
    text = key.passage.text
    return not text.lstrip().startswith(("{", "[")) and text[key.end : key.end + 1] == ":" and not key.passage.pieces


def _line(key: Written, value: Written) -> Written | None:
    """Return the whole line of an entry; None where the line has anything else."""
    text = key.passage.text
    start, end = text.rfind("\n", 0, key.start) + 1, text.find("\n", value.end)
    if end < 0 or text[start : key.start].strip(" ") or text[value.end : end].strip():
        return None
    return replace(key, start=start, end=end + 1)


def _entry(members: Sequence[Member], index: int) -> Written | None:
    """Return an entry of a list with commas, up to the next entry, or from the previous one where it is the last."""
    key, value = members[index].written, members[index].value
    end_of_value = value.written if isinstance(value, Scalar) else None
    if key is None or end_of_value is None:
        return None
    if index + 1 < len(members):
        following = members[index + 1].written
        return replace(key, end=following.start) if following else None
    previous = members[index - 1].value
    before = previous.written if isinstance(previous, Scalar) else None
    return replace(key, start=before.end, end=end_of_value.end) if before else None
