"""The day on which warmbase runs."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

__all__ = ["today"]


def today() -> date:
    """Return the current date in UTC, or that of SOURCE_DATE_EPOCH, so that a result can be reproduced later."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return (datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)).date()
