/* The Python module `_compiled`: takes arguments, checks every one of them, calls the loops.
 *
 * Arrays come by the buffer protocol, from NumPy, pyarrow, bytes or memoryviews; the loops get
 * addresses and sizes that were held against each other here. An argument that does not fit is a
 * ValueError or a TypeError: a mistake of the calling code, which no file can cause. The interpreter
 * lock is released around the loops, while the buffers are held.
 *
 * Limited API of Python 3.11; no memory is allocated but a table of the buffers of string views.
 * `kernels/reference/` has the same functions in Python, but for those that read files.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <limits.h>

#include "arrays.h"
#include "pages.h"
#include "probe.h"
#include "sbbf.h"
#include "thrift.h"
#include "vectors.h"
#include "xxh64.h"

enum { UNLOCK_BYTES = 1 << 15 }; /* smaller inputs are done before another thread could start */

/* ---------------------------------------------------------------- arguments */

static int has_arguments(const char *function, Py_ssize_t given, Py_ssize_t wanted) {
  if (given == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, wanted, given);
  return 0;
}

enum { READ = 0, WRITE = 1, OPTIONAL = 2 };

/* Take a contiguous buffer of items of `item` bytes, or of bytes; of any items where `item` is 1.
 * `view` is empty before. */
static int take_buffer(PyObject *given, const char *name, Py_ssize_t item, int flags,
                       Py_buffer *view) {
  if (given == Py_None && flags & OPTIONAL) return 1;
  if (!PyObject_CheckBuffer(given)) {
    PyErr_Format(PyExc_TypeError, "%s must be a buffer", name);
    return 0;
  }
  if (PyObject_GetBuffer(given, view, flags & WRITE ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0) {
    view->obj = NULL;
    PyErr_Format(PyExc_ValueError, "%s must be contiguous%s", name,
                 flags & WRITE ? " and writable" : "");
    return 0;
  }
  int is_other = item != 1 && view->itemsize != 1 && view->itemsize != item;
  if (is_other || view->len % item != 0) {
    PyErr_Format(PyExc_ValueError, "%s must have items of %zd bytes", name, item);
    return 0;
  }
  return 1;
}

/* The same, for arrays that the loops use as arrays of C. */
static int take_aligned(PyObject *given, const char *name, Py_ssize_t item, int flags,
                        Py_buffer *view) {
  if (!take_buffer(given, name, item, flags, view)) return 0;
  if (view->len == 0 || (uintptr_t)view->buf % (uintptr_t)item == 0) return 1;
  PyErr_Format(PyExc_ValueError, "%s must be aligned to %zd bytes", name, item);
  return 0;
}

static int take_number(PyObject *given, const char *name, int64_t least, int64_t most,
                       int64_t *number) {
  PyObject *whole = PyNumber_Index(given);
  if (whole == NULL) return 0; /* a TypeError */
  int overflow = 0;
  *number = PyLong_AsLongLongAndOverflow(whole, &overflow);
  Py_DECREF(whole);
  if (overflow == 0 && *number >= least && *number <= most) return 1;
  PyErr_Format(PyExc_ValueError, "%s must be from %lld to %lld", name, (long long)least,
               (long long)most);
  return 0;
}

static int refuse(const char *problem) {
  PyErr_SetString(PyExc_ValueError, problem);
  return 0;
}

static PyObject *number_or_null(int is_good, int64_t number) {
  return is_good ? PyLong_FromLongLong(number) : NULL;
}

/* ---------------------------------------------------------------- hashes of one value */

static PyObject *py_xxh64(PyObject *self, PyObject *data) {
  Py_buffer view = {0};
  uint64_t h = 0;
  (void)self;
  if (!take_buffer(data, "data", 1, READ, &view)) {
    PyBuffer_Release(&view);
    return NULL;
  }
  if (view.len < UNLOCK_BYTES) {
    h = xxh64(view.buf, (size_t)view.len);
  } else {
    Py_BEGIN_ALLOW_THREADS
    h = xxh64(view.buf, (size_t)view.len);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLongLong(h);
}

/* ---------------------------------------------------------------- hashes of arrays */

/* The arguments that all arrays have: `first` and `count` of the slots, the bitmap of valid slots or
 * None, and the hashes to be written. */
typedef struct {
  int64_t first, count;
  Py_buffer valid, hashes;
  Slots slots;
} ArrayArguments;

static int take_slots(PyObject *const *args, ArrayArguments *given) {
  const int64_t most = INT64_MAX / 64; /* slots; neither bytes nor bits of them overflow */
  if (!take_number(args[0], "first", 0, most, &given->first) ||
      !take_number(args[1], "count", 0, most, &given->count) ||
      !take_buffer(args[2], "valid", 1, READ | OPTIONAL, &given->valid) ||
      !take_buffer(args[3], "hashes", 8, WRITE, &given->hashes))
    return 0;
  if (given->valid.obj != NULL && (given->first + given->count + 7) / 8 > given->valid.len)
    return refuse("the bitmap of valid slots is too short");
  if (given->count > given->hashes.len / 8) return refuse("there is no room for the hashes");
  given->slots.count = given->count;
  given->slots.valid = given->valid.obj != NULL ? given->valid.buf : NULL;
  given->slots.first_bit = given->first;
  given->slots.hashes = given->hashes.buf;
  return 1;
}

static void release_slots(ArrayArguments *given) {
  PyBuffer_Release(&given->valid);
  PyBuffer_Release(&given->hashes);
}

static int refuse_outside(int64_t kept) {
  PyErr_Format(PyExc_ValueError, "value %lld is not within its buffer", (long long)(-1 - kept));
  return 0;
}

static PyObject *py_xxh64_fixed(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer values = {0};
  ArrayArguments given = {0};
  int64_t width = 0, kept = 0;
  (void)self;
  int is_good = has_arguments("xxh64_fixed", num_args, 6) &&
                take_buffer(args[0], "values", 1, READ | OPTIONAL, &values) &&
                take_number(args[1], "width", 0, INT32_MAX, &width) &&
                take_slots(args + 2, &given);
  if (is_good && width != 0 && given.first + given.count > values.len / width)
    is_good = refuse("the values are too short");
  if (is_good && given.count > 0) {
    const uint8_t *start = values.buf;
    const Fixed array = {width != 0 ? start + given.first * width : (const uint8_t *)"", width};
    Py_BEGIN_ALLOW_THREADS
    kept = xxh64_fixed(&array, &given.slots);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&values);
  release_slots(&given);
  return number_or_null(is_good, kept);
}

static PyObject *py_xxh64_variable(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer values = {0}, offsets = {0};
  ArrayArguments given = {0};
  int64_t width = 0, kept = 0;
  (void)self;
  int is_good = has_arguments("xxh64_variable", num_args, 7) &&
                take_buffer(args[0], "values", 1, READ | OPTIONAL, &values) &&
                take_buffer(args[1], "offsets", 1, READ | OPTIONAL, &offsets) &&
                take_number(args[2], "offset_width", 4, 8, &width) &&
                take_slots(args + 3, &given);
  if (is_good && width != 4 && width != 8) is_good = refuse("offsets have 4 or 8 bytes");
  if (is_good && given.count > 0 && given.first + given.count + 1 > offsets.len / width)
    is_good = refuse("the offsets are too short");
  if (is_good && given.count > 0) {
    const uint8_t *start = values.buf != NULL ? values.buf : (const uint8_t *)"";
    const uint8_t *first = offsets.buf;
    const Variable array = {start, (uint64_t)values.len, first + given.first * width, width == 8};
    Py_BEGIN_ALLOW_THREADS
    kept = xxh64_variable(&array, &given.slots);
    Py_END_ALLOW_THREADS
    if (kept < 0) is_good = refuse_outside(kept);
  }
  PyBuffer_Release(&values);
  PyBuffer_Release(&offsets);
  release_slots(&given);
  return number_or_null(is_good, kept);
}

/* The buffers that views point into. */
typedef struct {
  Py_ssize_t count;
  Py_buffer *held;
  Span *spans;
} ViewBuffers;

static int take_view_buffers(PyObject *given, ViewBuffers *buffers) {
  if (!PyTuple_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "buffers must be a tuple");
    return 0;
  }
  Py_ssize_t count = PyTuple_Size(given); /* so many objects are in memory already */
  buffers->held = PyMem_Calloc((size_t)count + 1, sizeof *buffers->held);
  buffers->spans = PyMem_Calloc((size_t)count + 1, sizeof *buffers->spans);
  if (buffers->held == NULL || buffers->spans == NULL) {
    PyErr_NoMemory();
    return 0;
  }
  for (; buffers->count < count; buffers->count++) {
    Py_buffer *view = &buffers->held[buffers->count];
    Span *span = &buffers->spans[buffers->count];
    PyObject *one = PyTuple_GetItem(given, buffers->count);
    if (one == NULL || !take_buffer(one, "buffers", 1, READ | OPTIONAL, view)) return 0;
    span->start = view->buf;
    span->size = (uint64_t)view->len;
  }
  return 1;
}

static void release_view_buffers(ViewBuffers *buffers) {
  for (Py_ssize_t i = 0; buffers->held != NULL && i < buffers->count; i++)
    PyBuffer_Release(&buffers->held[i]);
  PyMem_Free(buffers->held);
  PyMem_Free(buffers->spans);
}

static PyObject *py_xxh64_views(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer views = {0};
  ViewBuffers buffers = {0};
  ArrayArguments given = {0};
  int64_t kept = 0;
  (void)self;
  int is_good = has_arguments("xxh64_views", num_args, 6) &&
                take_buffer(args[0], "views", 1, READ | OPTIONAL, &views) &&
                take_view_buffers(args[1], &buffers) && take_slots(args + 2, &given);
  if (is_good && given.first + given.count > views.len / 16)
    is_good = refuse("the views are too short");
  if (is_good && given.count > 0) {
    const uint8_t *first = views.buf;
    const Views array = {first + given.first * 16, buffers.spans, buffers.count};
    Py_BEGIN_ALLOW_THREADS
    kept = xxh64_views(&array, &given.slots);
    Py_END_ALLOW_THREADS
    if (kept < 0) is_good = refuse_outside(kept);
  }
  PyBuffer_Release(&views);
  release_view_buffers(&buffers);
  release_slots(&given);
  return number_or_null(is_good, kept);
}

/* ---------------------------------------------------------------- filters */

/* Take the blocks of a filter, 0 < z < 2**31. */
static int take_blocks(PyObject *given, const char *name, int flags, Py_buffer *view,
                       int64_t *num_blocks) {
  if (!take_buffer(given, name, 4, flags, view)) return 0;
  *num_blocks = view->len / BLOCK_BYTES;
  if (view->len % BLOCK_BYTES == 0 && *num_blocks > 0 && *num_blocks <= INT32_MAX) return 1;
  PyErr_Format(PyExc_ValueError, "%s must be 1 to 2**31 - 1 blocks of 32 bytes", name);
  return 0;
}

static PyObject *py_insert(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer blocks = {0}, hashes = {0};
  int64_t num_blocks;
  (void)self;
  int is_good = has_arguments("insert", num_args, 2) &&
                take_blocks(args[0], "blocks", WRITE, &blocks, &num_blocks) &&
                take_buffer(args[1], "hashes", 8, READ, &hashes);
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    sbbf_insert(blocks.buf, num_blocks, hashes.buf, hashes.len / 8);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  PyBuffer_Release(&hashes);
  return is_good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_check(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer blocks = {0}, hashes = {0}, flags = {0};
  int64_t num_blocks, found = 0;
  (void)self;
  int is_good = has_arguments("check", num_args, 3) &&
                take_blocks(args[0], "blocks", READ, &blocks, &num_blocks) &&
                take_buffer(args[1], "hashes", 8, READ, &hashes) &&
                take_buffer(args[2], "flags", 1, WRITE | OPTIONAL, &flags);
  if (is_good && flags.obj != NULL && flags.len < hashes.len / 8)
    is_good = refuse("there is no room for the flags");
  if (is_good && hashes.len < UNLOCK_BYTES) {
    found = sbbf_check(blocks.buf, num_blocks, hashes.buf, hashes.len / 8, flags.buf);
  } else if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    found = sbbf_check(blocks.buf, num_blocks, hashes.buf, hashes.len / 8, flags.buf);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  PyBuffer_Release(&hashes);
  PyBuffer_Release(&flags);
  return number_or_null(is_good, found);
}

static PyObject *py_fold(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer blocks = {0}, folded = {0};
  int64_t num_blocks, factor, num_folded;
  (void)self;
  int is_good = has_arguments("fold", num_args, 3) &&
                take_blocks(args[0], "blocks", READ, &blocks, &num_blocks) &&
                take_number(args[1], "factor", 1, INT32_MAX, &factor) &&
                take_blocks(args[2], "folded", WRITE, &folded, &num_folded);
  if (is_good && (num_blocks % factor != 0 || num_folded != num_blocks / factor))
    is_good = refuse("folded must have as many blocks as the factor leaves");
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    sbbf_fold(blocks.buf, num_blocks, factor, folded.buf);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  PyBuffer_Release(&folded);
  return is_good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_unite(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer blocks = {0}, others = {0};
  int64_t num_blocks, num_others;
  (void)self;
  int is_good = has_arguments("unite", num_args, 2) &&
                take_blocks(args[0], "blocks", WRITE, &blocks, &num_blocks) &&
                take_blocks(args[1], "others", READ, &others, &num_others);
  if (is_good && num_blocks % num_others != 0)
    is_good = refuse("the number of blocks must be a multiple of the others'");
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    sbbf_unite(blocks.buf, num_blocks, others.buf, num_others);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  PyBuffer_Release(&others);
  return is_good ? Py_NewRef(Py_None) : NULL;
}

static PyObject *py_count_bits(PyObject *self, PyObject *given) {
  Py_buffer blocks = {0};
  int64_t num_blocks, found = 0;
  (void)self;
  int is_good = take_blocks(given, "blocks", READ, &blocks, &num_blocks);
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    found = sbbf_count_bits(blocks.buf, num_blocks);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  return number_or_null(is_good, found);
}

static PyObject *py_sum_products(PyObject *self, PyObject *given) {
  Py_buffer blocks = {0};
  int64_t num_blocks;
  uint64_t low = 0, high = 0;
  (void)self;
  int is_good = take_blocks(given, "blocks", READ, &blocks, &num_blocks);
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    low = sbbf_sum_products(blocks.buf, num_blocks, &high);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&blocks);
  if (!is_good) return NULL;
  char digits[40];
  PyOS_snprintf(digits, sizeof digits, "%llx%016llx", (unsigned long long)high,
                (unsigned long long)low);
  return PyLong_FromString(digits, NULL, 16);
}

/* ---------------------------------------------------------------- Thrift and pages */

static int take_schema(PyObject *given, int64_t width, Py_buffer *view, ThriftSchema *schema) {
  const Py_ssize_t fields = THRIFT_MAX_FIELD, words = 3 * fields + THRIFT_TRAITS;
  if (!take_aligned(given, "schema", 8, READ, view)) return 0;
  const int64_t *first = view->buf;
  schema->num_kinds = view->len / 8 / words;
  schema->slots = first;
  schema->wires = first + schema->num_kinds * fields;
  schema->children = first + 2 * schema->num_kinds * fields;
  schema->traits = first + 3 * schema->num_kinds * fields;
  if (view->len % (8 * words) != 0 || !thrift_schema_fits(schema, width))
    return refuse("the schema is not one of tables of this width");
  return 1;
}

static int take_thrift(PyObject *given, PyObject *at, Py_buffer *view, int64_t *pos) {
  if (!take_buffer(given, "data", 1, READ, view) ||
      !take_number(at, "pos", 0, INT64_MAX, pos))
    return 0;
  if (view->len > INT32_MAX) return refuse("there are too many data");
  if (*pos > view->len) return refuse("pos lies behind the data");
  return 1;
}

/* Refuse a schema in memory that the loop writes to: it was checked before, and is trusted. */
static int is_apart(const Py_buffer *schema, const Py_buffer *written) {
  const uintptr_t start = (uintptr_t)schema->buf, other = (uintptr_t)written->buf;
  if (written->len == 0 || start >= other + (uintptr_t)written->len ||
      other >= start + (uintptr_t)schema->len)
    return 1;
  return refuse("the schema must not share memory with what is written");
}

static PyObject *py_scan(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer data = {0}, types = {0}, kinds = {0}, values = {0}, spans = {0};
  ThriftSchema schema;
  ThriftTable table = {0};
  ThriftEnd end = {0};
  int64_t pos = 0;
  int problem = THRIFT_OK;
  (void)self;
  int is_good = has_arguments("scan", num_args, 7) &&
                take_number(args[3], "width", 1, 1024, &table.width) &&
                take_thrift(args[0], args[1], &data, &pos) &&
                take_schema(args[2], table.width, &types, &schema) &&
                take_aligned(args[4], "kinds", 8, WRITE, &kinds) &&
                take_aligned(args[5], "values", 8, WRITE, &values) &&
                take_aligned(args[6], "spans", 4, WRITE, &spans) &&
                is_apart(&types, &kinds) && is_apart(&types, &values) && is_apart(&types, &spans);
  if (is_good) {
    table.capacity = kinds.len / 8;
    table.kinds = kinds.buf;
    table.values = values.buf;
    table.spans = spans.buf;
    if (table.capacity > values.len / 8 / table.width ||
        table.capacity > spans.len / 12 / table.width)
      is_good = refuse("kinds, values and spans must have as many rows");
  }
  if (is_good && data.len < UNLOCK_BYTES) {
    problem = thrift_scan(data.buf, data.len, pos, &schema, &table, &end);
  } else if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    problem = thrift_scan(data.buf, data.len, pos, &schema, &table, &end);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&data);
  PyBuffer_Release(&types);
  PyBuffer_Release(&kinds);
  PyBuffer_Release(&values);
  PyBuffer_Release(&spans);
  if (!is_good) return NULL;
  return Py_BuildValue("iLL", problem, (long long)end.stop, (long long)end.rows);
}

/* ---------------------------------------------------------------- pieces of files */

#if PBW_HAS_PREAD
static PyObject *py_walk_file(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer types = {0}, pages = {0};
  ThriftSchema schema;
  PagesFile file = {0};
  int64_t descriptor = 0, found = 0;
  int problem = THRIFT_OK;
  (void)self;
  int is_good = has_arguments("walk_file", num_args, 6) &&
                take_number(args[0], "descriptor", 0, INT_MAX, &descriptor) &&
                take_number(args[1], "pos", 0, INT64_MAX, &file.pos) &&
                take_number(args[2], "limit", 0, INT64_MAX, &file.limit) &&
                take_number(args[3], "num_values", INT64_MIN, INT64_MAX, &file.num_values) &&
                take_schema(args[4], PAGE_SLOTS, &types, &schema) &&
                take_aligned(args[5], "pages", 8, WRITE, &pages) && is_apart(&types, &pages);
  if (is_good) {
    file.descriptor = (int)descriptor;
    Py_BEGIN_ALLOW_THREADS
    problem = pages_walk_file(&file, &schema, pages.buf, pages.len / (8 * PAGE_COLUMNS), &found);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&types);
  PyBuffer_Release(&pages);
  if (!is_good) return NULL;
  return Py_BuildValue("iLLLLL", problem, (long long)file.pos, (long long)found,
                       (long long)file.num_values, (long long)file.num_reads,
                       (long long)file.num_bytes);
}

static PyObject *py_read_pieces(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer descriptors = {0}, starts = {0}, target = {0};
  int64_t size, count, done = 0;
  (void)self;
  int is_good = has_arguments("read_pieces", num_args, 4) &&
                take_aligned(args[0], "descriptors", 8, READ, &descriptors) &&
                take_aligned(args[1], "starts", 8, READ, &starts) &&
                take_number(args[2], "size", 1, INT32_MAX, &size) &&
                take_buffer(args[3], "target", 1, WRITE, &target);
  count = starts.len / 8;
  if (is_good && (descriptors.len != starts.len || count > target.len / size))
    is_good = refuse("each piece must have a descriptor and room");
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    done = probe_read_pieces(descriptors.buf, starts.buf, count, size, target.buf);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&descriptors);
  PyBuffer_Release(&starts);
  PyBuffer_Release(&target);
  return number_or_null(is_good, done);
}

static PyObject *py_probe_usual(PyObject *self, PyObject *given) {
  Py_buffer tasks = {0};
  int64_t num_odd = 0;
  (void)self;
  int is_good = take_aligned(given, "tasks", 8, WRITE, &tasks);
  if (is_good && tasks.len % (8 * TASK_WORDS) != 0)
    is_good = refuse("tasks must have 8 words each");
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    num_odd = probe_usual(tasks.buf, tasks.len / (8 * TASK_WORDS));
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&tasks);
  return number_or_null(is_good, num_odd);
}

static PyObject *py_probe_groups(PyObject *self, PyObject *const *args, Py_ssize_t num_args) {
  Py_buffer groups = {0}, starts = {0}, answers = {0};
  int64_t num_bad = 0;
  (void)self;
  int is_good = has_arguments("probe_groups", num_args, 3) &&
                take_aligned(args[0], "groups", 8, WRITE, &groups) &&
                take_aligned(args[1], "starts", 8, READ, &starts) &&
                take_buffer(args[2], "answers", 1, WRITE, &answers);
  if (is_good && groups.len % (8 * GROUP_WORDS) != 0)
    is_good = refuse("groups must have 11 words each");
  if (is_good) {
    Py_BEGIN_ALLOW_THREADS
    num_bad = probe_groups(groups.buf, groups.len / (8 * GROUP_WORDS), starts.buf, starts.len / 8,
                           answers.buf, answers.len);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&groups);
  PyBuffer_Release(&starts);
  PyBuffer_Release(&answers);
  return number_or_null(is_good, num_bad);
}
#endif

/* ---------------------------------------------------------------- variants, for tests */

static const char *const VARIANTS[NUM_VARIANTS] = {"baseline", "avx2", "avx512"};

static PyObject *py_variants(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  PyObject *names = PyTuple_New(best_variant() + 1);
  for (int i = 0; names != NULL && i <= best_variant(); i++) {
    PyObject *name = PyUnicode_FromString(VARIANTS[i]);
    if (name == NULL || PyTuple_SetItem(names, i, name) < 0) Py_CLEAR(names);
  }
  return names;
}

static PyObject *py_choose_variant(PyObject *self, PyObject *name) {
  (void)self;
  for (int i = 0; i <= best_variant(); i++)
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, VARIANTS[i]) == 0) {
      chosen_variant = i;
      return Py_NewRef(Py_None);
    }
  refuse("this processor has no such variant");
  return NULL;
}

/* ---------------------------------------------------------------- the module */

#define FAST(name) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    {"xxh64", py_xxh64, METH_O, NULL},
    FAST(xxh64_fixed),
    FAST(xxh64_variable),
    FAST(xxh64_views),
    FAST(insert),
    FAST(check),
    FAST(fold),
    FAST(unite),
    {"count_bits", py_count_bits, METH_O, NULL},
    {"sum_products", py_sum_products, METH_O, NULL},
    FAST(scan),
#if PBW_HAS_PREAD
    FAST(walk_file),
    FAST(read_pieces),
    {"probe_usual", py_probe_usual, METH_O, NULL},
    FAST(probe_groups),
#endif
    {"variants", py_variants, METH_NOARGS, NULL},
    {"choose_variant", py_choose_variant, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* Numbers that `kernels/layout.py` has, too; a test compares them. */
static const struct {
  const char *name;
  int value;
} NUMBERS[] = {
    {"MAX_DEPTH", THRIFT_MAX_DEPTH}, {"MAX_FIELD", THRIFT_MAX_FIELD}, {"TRAITS", THRIFT_TRAITS},
    {"UNKNOWN", THRIFT_UNKNOWN},     {"IGNORED", THRIFT_IGNORED},     {"FULL", THRIFT_FULL},
    {"PAGE_COLUMNS", PAGE_COLUMNS},  {"PAGE_SLOTS", PAGE_SLOTS},      {"TASK_WORDS", TASK_WORDS},
    {"PIECE_BYTES", PIECE_BYTES},    {"NOT_IN", NOT_IN},              {"MIGHT_BE_IN", MIGHT_BE_IN},
    {"EMPTY", EMPTY},                {"ODD", ODD},                    {"WITH_HEADER", WITH_HEADER},
    {"GROUP_WORDS", GROUP_WORDS},    {"MAX_MEMBERS", MAX_MEMBERS},    {"CHECK_BYTES", CHECK_BYTES},
    {"AS_WRITTEN", AS_WRITTEN},      {"NOT_AS_WRITTEN", NOT_AS_WRITTEN},
    {"NOT_READ", NOT_READ},
};

static int fill_module(PyObject *module) {
  const uint16_t one = 1;
  if (*(const uint8_t *)&one != 1) {
    PyErr_SetString(PyExc_ImportError, "the compiled kernels need a little-endian machine");
    return -1;
  }
  chosen_variant = best_variant();
  for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
    if (PyModule_AddIntConstant(module, NUMBERS[i].name, NUMBERS[i].value) < 0) return -1;
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill_module}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_compiled",
    .m_doc = "The kernels in C; parquet_bloomwriter.kernels documents them.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
