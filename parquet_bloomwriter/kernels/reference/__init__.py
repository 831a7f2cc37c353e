"""The kernels in Python and NumPy: an oracle for the C, and the fallback without it.

They are written in another way than the C, so that both do not share their faults. The kernels
that read files are not here: without them, callers go the way that they go for files on stores.
See `parquet_bloomwriter.kernels` for the rules, and `layout` for the arrays.
"""

from parquet_bloomwriter.kernels.reference.hashes import xxh64 as xxh64
from parquet_bloomwriter.kernels.reference.hashes import xxh64_fixed as xxh64_fixed
from parquet_bloomwriter.kernels.reference.hashes import xxh64_variable as xxh64_variable
from parquet_bloomwriter.kernels.reference.hashes import xxh64_views as xxh64_views
from parquet_bloomwriter.kernels.reference.sbbf import check as check
from parquet_bloomwriter.kernels.reference.sbbf import count_bits as count_bits
from parquet_bloomwriter.kernels.reference.sbbf import fold as fold
from parquet_bloomwriter.kernels.reference.sbbf import insert as insert
from parquet_bloomwriter.kernels.reference.sbbf import sum_products as sum_products
from parquet_bloomwriter.kernels.reference.sbbf import unite as unite
from parquet_bloomwriter.kernels.reference.thrift import scan as scan
