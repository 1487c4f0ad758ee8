"""A draft of an environment file: what a person states, and what warmbase assumes because nobody stated it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from environments.draft.assumptions import ASSUMPTIONS, Assumption
from environments.reader.schema_keys import ANY_NAME, SchemaKey
from sizing.modes import MODES, S3_CACHED
from sizing.units import exact_size, format_rate

CLUSTER: Final = "blue"
"""The name of the one cluster of a draft."""
REQUIRED: Final = ("workload.stored", "workload.reads.per_second", "workload.row", "region")
"""Keys for which no assumption would be near the truth."""
THE_DEFAULT: Final = "the default."


class Answer(Struct, frozen=True, kw_only=True):
    """The value of one key, as YAML holds it. `assumed` is the reason for it; empty where a person stated the value."""

    value: object
    assumed: str = ""


class Draft(Struct, frozen=True, kw_only=True):
    """The values that a person states, by path, such as `workload.stored`.

    `remarks` are comments on keys, also by path: where a value comes from, or why the value of a file is not used.
    """

    name: str
    values: Mapping[str, object]
    remarks: Mapping[str, str] = field(default_factory=dict)

    def answer(self, key: SchemaKey) -> Answer | None:
        """Return the stated value of a key, else an assumption, else its default; None for a key without a value."""
        path = key.path.replace(ANY_NAME, CLUSTER)
        if path == "name":
            return Answer(value=self.name)
        if path in self.values:
            return Answer(value=self.values[path])
        if self._is_refused(path):
            return None
        if (assumption := ASSUMPTIONS.get(path)) is not None:
            return self._assumed(assumption)
        return None if key.default is None else Answer(value=written_default(key), assumed=THE_DEFAULT)

    def example(self, key: SchemaKey) -> object:
        """Return an example of a key; that of a busiest hour is twice the stated mean, because less is refused."""
        mean = self.values.get("workload.reads.per_second")
        if key.path == "workload.reads.peak_per_second" and isinstance(mean, int | float):
            return 2 * mean
        return key.example

    def _is_refused(self, path: str) -> bool:
        """Return whether a key has no meaning beside the stated values, so that a file may not or need not have it."""
        if path == "network.endpoint_policies":
            return self.values.get("network.vpc", "new") != "new"
        if path in {"storage.root", "storage.wal", "fencing"}:
            mode = MODES.get(str(self.values.get("storage.mode")), S3_CACHED)
            return not mode.keeps_data_in_s3
        return path == "workload.reads.per_second" and "workload.reads.concurrency" in self.values

    def _assumed(self, assumption: Assumption) -> Answer:
        return Answer(value=assumption.value(self.values), assumed=assumption.why)


def written_default(key: SchemaKey) -> object:
    """Return the default of a key as a file has it: sizes are numbers of bytes in the schema."""
    pattern = key.form.get("pattern", "")
    if isinstance(key.default, int) and "iB" in pattern:
        return format_rate(key.default) if pattern.endswith("/s$") else exact_size(key.default)
    return key.default
