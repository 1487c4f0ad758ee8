"""Rendered files under a real HBase: what it says of itself beside what was planned; what it does with wrong ones."""

from lab.hbase.boots.matrix import boots
from lab.hbase.boots.refusals import refused

__all__ = ["boots", "refused"]
