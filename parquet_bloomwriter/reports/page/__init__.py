"""One self-contained HTML page with plots: the filters of one or many files.

There are no scripts and nothing is fetched. Whatever comes from a file is text: markup is a type of
its own, and every `str` that goes into it is escaped.
"""

from __future__ import annotations

from parquet_bloomwriter.reports.page.page import page

__all__ = ["page"]
