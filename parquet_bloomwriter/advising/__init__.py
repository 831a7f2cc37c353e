"""Which columns deserve a Bloom filter: evidence from footer and samples, and a verdict."""

from parquet_bloomwriter.advising.evidence import ColumnEvidence, RowGroupSample
from parquet_bloomwriter.advising.judging import judge

__all__ = ["ColumnEvidence", "RowGroupSample", "judge"]
