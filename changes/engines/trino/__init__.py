"""The launches of analytics clusters."""
