"""The BucketCache: its allocator, its bucket sizes, its hit ratio and its fill."""
