"""The reader of real store files: the HFile format byte by byte, and a whole HBase root summarised from its files.

Nothing here asks a service: bytes come through `Readable`, whoever fetches them.
"""
