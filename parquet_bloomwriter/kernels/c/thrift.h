/* One pass over Thrift compact bytes that notes where every field of interest lies.
 *
 * `compact/scan.py` describes the encoding and the table, `kernels/layout.py` the arrays and numbers;
 * `kernels/reference/thrift.py` does the same by recursive descent.
 */
#ifndef PBW_THRIFT_H
#define PBW_THRIFT_H

#include <stdint.h>

enum {
  THRIFT_MAX_DEPTH = 64, /* structs and lists that may be open at once */
  THRIFT_MAX_FIELD = 32, /* field ids of interest are below this */
  THRIFT_TRAITS = 5,     /* numbers of each kind of struct, besides its fields */
};

enum { THRIFT_UNKNOWN = -1, THRIFT_IGNORED = -2 }; /* in place of a slot */

#define THRIFT_ABSENT INT64_MIN /* the integer of a slot whose field is absent */

enum {
  THRIFT_OK = 0,
  THRIFT_ENDS_EARLY = 1,
  THRIFT_NO_SUCH_TYPE = 2,
  THRIFT_TOO_DEEP = 3,
  THRIFT_TOO_MANY_ELEMENTS = 4,
  THRIFT_TWICE = 5,
  THRIFT_LONG_VARINT = 6,
  THRIFT_SHORT_STRUCT = 7,
  THRIFT_OTHER_ELEMENTS = 8,
  THRIFT_FULL = 9, /* more structs than rows: the table is too small, the bytes are sound */
};

/* What is of interest: arrays with a row for each kind of struct. */
typedef struct {
  int64_t num_kinds;
  const int64_t *slots;    /* shape (num_kinds, THRIFT_MAX_FIELD), as are the next two */
  const int64_t *wires;
  const int64_t *children;
  const int64_t *traits;   /* shape (num_kinds, THRIFT_TRAITS) */
} ThriftSchema;

/* What was found: a row for each struct. */
typedef struct {
  int64_t capacity;
  int64_t width;
  int64_t *kinds;  /* shape (capacity,) */
  int64_t *values; /* shape (capacity, width) */
  int32_t *spans;  /* shape (capacity, width, 3) */
} ThriftTable;

typedef struct {
  int64_t stop; /* position past the struct, or of the problem */
  int64_t rows; /* rows that were filled */
} ThriftEnd;

/* Whether `thrift_scan` stays within the arrays of a table of this width. */
int thrift_schema_fits(const ThriftSchema *schema, int64_t width);

/* Scan the struct at `pos` of `size` bytes, at most INT32_MAX; return the number of the problem. */
int thrift_scan(const uint8_t *data, int64_t size, int64_t pos, const ThriftSchema *schema,
                const ThriftTable *table, ThriftEnd *end);

#endif
