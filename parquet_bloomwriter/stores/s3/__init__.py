"""S3, and stores that speak its language: objects read by ranges, and put together on the server.

    urls         URLs of objects
    client       how a bucket is opened
    bucket       the requests, and their repetition
    answers      what a store answers, and the errors that its refusals become
    limits       the memory and the time that an answer may take
    store        a bucket as a store of tables; an object as a source of bytes of one version
    parts        how a new object is cut into parts that the store copies and parts that are sent
    new_object   sends the parts, and publishes the object under a condition
    attributes   what an object has beside its bytes
    conditions   whether a store honours conditions
    journal      uploads that were begun and not ended

boto3 is imported when the first bucket is opened.
"""
