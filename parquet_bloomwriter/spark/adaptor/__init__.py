"""The optimizer rules: Java beside this file, compiled in the driver by Spark's own compiler.

The rules are thin: they find conditions and keys in a plan, ask Python (`..bridge`), and put fewer
files or a probe into the plan. Janino compiles a subset of Java: raw types, casts, no lambdas.
"""
