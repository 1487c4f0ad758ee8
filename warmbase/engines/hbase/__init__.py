"""HBase as an engine: the functions of the rooms, which were written for it, as the facets of an engine."""
