"""elbencho as a load generator: files, directories, block devices and S3 objects; one process per
host.
"""
