from warmbase.library import *  # noqa: F403 - each name in its `__all__`
