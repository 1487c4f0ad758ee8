"""What real store files say: the HFile format read byte by byte, and a whole HBase root summarised from its files.

Nothing here asks a service: bytes come through `Readable`, whoever fetches them.
"""
