"""The optimizer rules: Java beside this file, compiled in the driver by the compiler in Spark.

The rules are thin: they find conditions and keys in a plan, ask Python (`..rules`), and put fewer
files or a probe into the plan. Janino compiles a subset of Java: it ignores type arguments, so that
values of generic methods need casts, and has no lambdas and no `try` with resources.
"""
