"""Which columns deserve Bloom filters: a profile from footer and samples, costs, a verdict."""

from parquet_bloomwriter.advising.column_profile import (
    ColumnProfile,
    RowGroupSample,
    merge_profiles,
)
from parquet_bloomwriter.advising.cost_model import judge

__all__ = ["ColumnProfile", "RowGroupSample", "judge", "merge_profiles"]
