"""HBase as an engine: its facets offer the functions of the rooms, most of which were written for HBase."""
