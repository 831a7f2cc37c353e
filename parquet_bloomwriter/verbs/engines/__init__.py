"""Tests of whether engines use filters: questions, queries, the program, the report."""
