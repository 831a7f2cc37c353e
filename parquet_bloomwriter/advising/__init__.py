"""Which columns deserve a Bloom filter: evidence from footer and samples, and a verdict."""

from parquet_bloomwriter.advising.column_profile import ColumnEvidence, RowGroupSample
from parquet_bloomwriter.advising.cost_model import judge

__all__ = ["ColumnEvidence", "RowGroupSample", "judge"]
