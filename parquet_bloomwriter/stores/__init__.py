"""Stores: objects read by ranges, written under conditions, and put together on the server.

S3 has the folder `s3`. All other stores are in `conditional`, `hdfs`, `sftp` and `file_systems`:
there files are read and written as a whole. `references`, `listing` and `object_cache` serve what
is above.

boto3, obstore and paramiko are imported when the first object is opened.
"""
