"""One example of a rule: a file in which it speaks, and the nearest in which it is silent."""

from __future__ import annotations

from msgspec import Struct, field

from tests.lint.examples.file import File


class Case(Struct, frozen=True):
    """An example: `says` is part of the message, and `at` is the property, after a classification and a blank if any.

    `at` is empty where no property is blamed. `with_it` are rules that report something else in the file because of the
    same fault.
    """

    id: str
    at: str
    says: str
    faulty: File
    right: File = field(default_factory=File)
    with_it: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """Return the classification and the property that are blamed."""
        path, blank, key = self.at.rpartition(" ")
        return (path, key) if blank else ("hbase-site", key)


def value_case(rule: str, key: str, wrong: str | None, right: str | None, says: str) -> Case:
    """Return the example in which one property of hbase-site has a wrong value, or None.

    `right` is None where the good cluster has the right value, or lacks the property.
    """
    return Case(rule, key, says, File({key: wrong}), File({} if right is None else {key: right}))
