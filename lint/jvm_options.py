"""The options of a RegionServer's JVM, from the variables that hbase-env.sh combines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from emr.cluster_spec import PLACEHOLDER, Setting
from lint.node import LintedNode

EXPORT: Final = "hbase-env/export"
VARIABLES: Final = ("HBASE_OPTS", "HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
"""The variables in the order in which a RegionServer gets them; the last of repeated flags counts."""
COLLECTORS: Final = re.compile(r"-XX:\+(Use(?:Z|G1|Parallel|Serial|Shenandoah|ConcMarkSweep|Epsilon)GC)\b")
MIB_OF: Final = {"": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}


class JvmOptions(Struct, frozen=True, kw_only=True):
    """The options that a file states; a size is None where it is absent or a placeholder."""

    settings: tuple[Setting, ...]
    collectors: tuple[tuple[str, Setting], ...]
    xms_mib: float | None
    xmx_mib: float | None
    direct_mib: float | None

    def with_flag(self, flag: str) -> Setting | None:
        """Return the setting that has a flag."""
        return next((setting for setting in self.settings if flag in setting.value), None)


def size_mib(text: str, *, plain_is_mib: bool = False) -> float | None:
    """Return a size such as `16640m` in MiB; a plain number is bytes, or MiB in HBASE_HEAPSIZE. None for other text."""
    size = re.fullmatch(r"(\d+)([kKmMgGtT]?)", text.strip().strip('"').strip())
    if not size:
        return None
    unit = size[2].lower()
    return int(size[1]) * (1 if plain_is_mib and not unit else MIB_OF[unit])


def jvm_options(node: LintedNode) -> JvmOptions:
    """Return the JVM options that the file states for a RegionServer."""
    settings = tuple(setting for name in VARIABLES if (setting := node.setting(name, EXPORT)))
    text = " ".join(setting.value for setting in settings)
    return JvmOptions(
        settings=settings,
        collectors=tuple(_collectors(settings)),
        xms_mib=_last(r"-Xms(\d+[kKmMgGtT]?)\b", text),
        xmx_mib=_last(r"-Xmx(\d+[kKmMgGtT]?)\b", text),
        direct_mib=_last(r"-XX:MaxDirectMemorySize=(\d+[kKmMgGtT]?)\b", text),
    )


def is_all_placeholder(setting: Setting) -> bool:
    """Return whether the whole value is a placeholder, which could hold any option."""
    return PLACEHOLDER.fullmatch(setting.value.strip().strip('"')) is not None


def java_version(node: LintedNode) -> int | None:
    """Return the JDK of HBase's daemons, from JAVA_HOME or else the release's default; None where neither is known."""
    if node.unstated("JAVA_HOME", EXPORT):
        return node.release.java_default if node.release else None
    home = node.text("JAVA_HOME", EXPORT)
    version = re.search(r"(?:jre|jdk|java)-?(?:1\.)?(\d+)", home or "")
    return int(version[1]) if version else None


def _collectors(settings: tuple[Setting, ...]) -> Iterator[tuple[str, Setting]]:
    names = set()
    for setting in settings:
        for name in COLLECTORS.findall(setting.value):
            if name not in names:
                names.add(name)
                yield name, setting


def _last(pattern: str, text: str) -> float | None:
    sizes = re.findall(pattern, text)
    return size_mib(sizes[-1]) if sizes else None
