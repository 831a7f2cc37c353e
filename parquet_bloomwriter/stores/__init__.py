"""Stores: objects read by ranges, written under conditions, and put together on the server.

S3 has `s3`, `s3_source`, `new_object`, `parts`, `attributes`, `conditions`, `journal`. All other
stores are in `whole`, `conditional`, `file_systems`: there files are read and written as a whole.

boto3, obstore and paramiko are imported when the first object is opened.
"""
