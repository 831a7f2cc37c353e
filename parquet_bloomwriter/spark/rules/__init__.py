"""The optimizer rules, and the protocol between Spark's JVM and Python."""
