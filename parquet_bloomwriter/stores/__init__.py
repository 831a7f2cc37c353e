"""Object stores: objects read by ranges, written under conditions, and put together on the server.

boto3 is imported when the first object is opened.
"""
