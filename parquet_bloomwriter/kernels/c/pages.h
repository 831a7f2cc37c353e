/* The page headers of a column chunk, one after the other; pages themselves are stepped over.
 *
 * Parquet specification, "Data Pages", and parquet.thrift, struct PageHeader. A chunk is a run of
 * pages, each a header and `compressed_page_size` bytes. `kernels/layout.py` has the numbers.
 */
#ifndef PBW_PAGES_H
#define PBW_PAGES_H

#include <stdint.h>

#include "probe.h" /* PBW_HAS_PREAD */
#include "thrift.h"

/* Columns of the result. */
enum {
  PAGE_POSITION,     /* of the header */
  PAGE_HEADER_BYTES,
  PAGE_COMPRESSED,   /* bytes of the page as it is stored */
  PAGE_UNCOMPRESSED, /* bytes */
  PAGE_TYPE,
  PAGE_NUM_VALUES,   /* -1 for types of pages that are not known, and for index pages */
  PAGE_ENCODING,     /* likewise */
  PAGE_COLUMNS,
};

/* Slots that the schema of a PageHeader gives to its fields; all kinds of structs share one row. */
enum {
  SLOT_TYPE = 1,
  SLOT_UNCOMPRESSED,
  SLOT_COMPRESSED,
  SLOT_DATA, /* number of values and encoding follow, as they do for the next two */
  SLOT_DICTIONARY = SLOT_DATA + 3,
  SLOT_DATA_V2 = SLOT_DICTIONARY + 3,
  PAGE_SLOTS = SLOT_DATA_V2 + 3,
};

/* Problems beside those of thrift.h. */
enum { PAGES_LACKS_FIELD = 10, PAGES_BAD_NUMBER = 11, PAGES_UNREADABLE = 12 };

#if PBW_HAS_PREAD
enum { PAGES_MAX_HEADER = 1 << 24 }; /* bytes of a header; Arrow refuses longer ones */

/* A walk through an open file: headers are read, and nothing else. */
typedef struct {
  int descriptor;
  int64_t pos;        /* in/out: of the first header; where the walk ended */
  int64_t limit;      /* pages end before it */
  int64_t num_values; /* in/out: of data pages still to be found; the walk ends when there are none */
  int64_t num_reads;  /* out */
  int64_t num_bytes;  /* out: that were read */
} PagesFile;

/* Note the pages until all values are found, the limit is reached or `capacity` pages are found
 * (THRIFT_FULL); `*found` is how many. A window of bytes is read for each header, as large as the
 * header before was, and a larger one if it turns out too small. */
int pages_walk_file(PagesFile *file, const ThriftSchema *schema, int64_t *pages, int64_t capacity,
                    int64_t *found);
#endif

#endif
