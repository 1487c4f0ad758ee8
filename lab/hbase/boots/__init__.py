"""Rendered files on a real HBase: what it reports beside the plan, and how it behaves with files that lint refuses."""
