"""The sizing of a Trino cluster whose workers cache the files of S3 on their disks."""
