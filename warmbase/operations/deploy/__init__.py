"""Proposals and the operations that apply them: deployment, tuning, pinning, teardown."""
