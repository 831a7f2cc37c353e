#define _FILE_OFFSET_BITS 64
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "pages.h"

#if PBW_HAS_PREAD
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum { DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 };

/* The slot of the struct that a page of this type must have; 0 if it needs none. */
static int struct_slot(int64_t type) {
  switch (type) {
    case DATA_PAGE: return SLOT_DATA;
    case DICTIONARY_PAGE: return SLOT_DICTIONARY;
    case DATA_PAGE_V2: return SLOT_DATA_V2;
    default: return 0;
  }
}

static int is_natural(int64_t number) { return number >= 0 && number <= INT32_MAX; }

/* Note the page whose header has these values, unless something is wrong with it. `room` is the
 * number of bytes from `pos` on, and the header has fewer. */
static int note_page(const int64_t *values, int64_t pos, int64_t header, int64_t room,
                     int64_t *page) {
  const int64_t type = values[SLOT_TYPE];
  const int64_t uncompressed = values[SLOT_UNCOMPRESSED], compressed = values[SLOT_COMPRESSED];
  const int slot = struct_slot(type);
  if (type == THRIFT_ABSENT || uncompressed == THRIFT_ABSENT || compressed == THRIFT_ABSENT ||
      (slot != 0 && (values[slot] == THRIFT_ABSENT || values[slot + 1] == THRIFT_ABSENT ||
                     values[slot + 2] == THRIFT_ABSENT)))
    return PAGES_LACKS_FIELD;
  const int64_t num_values = slot != 0 ? values[slot + 1] : -1;
  const int64_t encoding = slot != 0 ? values[slot + 2] : -1;
  if (!is_natural(uncompressed) || !is_natural(compressed) ||
      (slot != 0 && (!is_natural(num_values) || !is_natural(encoding))))
    return PAGES_BAD_NUMBER;
  if (compressed > room - header) return THRIFT_ENDS_EARLY;
  page[PAGE_POSITION] = pos;
  page[PAGE_HEADER_BYTES] = header;
  page[PAGE_COMPRESSED] = compressed;
  page[PAGE_UNCOMPRESSED] = uncompressed;
  page[PAGE_TYPE] = type;
  page[PAGE_NUM_VALUES] = num_values;
  page[PAGE_ENCODING] = encoding;
  return THRIFT_OK;
}

enum { FIRST_WINDOW = 64, SLACK = 16, ON_STACK = 4096 };

static int64_t read_window(PagesFile *file, uint8_t *target, int64_t size) {
  ssize_t done;
  do done = pread(file->descriptor, target, (size_t)size, (off_t)file->pos);
  while (done < 0 && errno == EINTR);
  file->num_reads++;
  if (done > 0) file->num_bytes += done;
  return done;
}

/* Scan the header at `file->pos`; `*window` is the number of bytes to read for it, and then the
 * number that was enough. */
static int scan_header(PagesFile *file, int64_t *window, const ThriftSchema *schema,
                       const ThriftTable *table, ThriftEnd *header) {
  uint8_t small[ON_STACK], *large = NULL;
  const int64_t room = file->limit - file->pos;
  const int64_t most = room < PAGES_MAX_HEADER ? room : PAGES_MAX_HEADER;
  int problem;
  for (;; *window *= 4) {
    if (*window > most) *window = most;
    uint8_t *data = small;
    if (*window > ON_STACK) {
      free(large);
      data = large = malloc((size_t)*window);
    }
    if (data == NULL || read_window(file, data, *window) != *window) {
      problem = PAGES_UNREADABLE;
      break;
    }
    problem = thrift_scan(data, *window, 0, schema, table, header);
    if (problem == THRIFT_OK || *window == most) break;
  }
  free(large);
  return problem;
}

int pages_walk_file(PagesFile *file, const ThriftSchema *schema, int64_t *pages, int64_t capacity,
                    int64_t *found) {
  int64_t kind, values[PAGE_SLOTS], window = FIRST_WINDOW;
  int32_t spans[PAGE_SLOTS * 3];
  const ThriftTable table = {1, PAGE_SLOTS, &kind, values, spans};
  for (*found = 0; file->num_values > 0 && file->pos < file->limit; ++*found) {
    ThriftEnd header;
    if (*found == capacity) return THRIFT_FULL;
    int problem = scan_header(file, &window, schema, &table, &header);
    if (problem != THRIFT_OK) return problem;
    int64_t *page = pages + *found * PAGE_COLUMNS;
    problem = note_page(values, file->pos, header.stop, file->limit - file->pos, page);
    if (problem != THRIFT_OK) return problem;
    const int64_t type = page[PAGE_TYPE];
    if (type == DATA_PAGE || type == DATA_PAGE_V2) file->num_values -= page[PAGE_NUM_VALUES];
    file->pos += header.stop + page[PAGE_COMPRESSED];
    window = header.stop + SLACK;
  }
  return THRIFT_OK;
}
#endif
