#include "pages.h"

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

int pages_walk(const uint8_t *data, int64_t size, int64_t pos, const ThriftSchema *schema,
               int64_t *pages, int64_t capacity, ThriftEnd *end) {
  int64_t kind, values[PAGE_SLOTS];
  int32_t spans[PAGE_SLOTS * 3];
  const ThriftTable table = {1, PAGE_SLOTS, &kind, values, spans};
  ThriftEnd header;
  int64_t found = 0;
  int problem = THRIFT_OK;
  for (; pos < size; found++) {
    if (found == capacity) {
      problem = THRIFT_FULL;
      break;
    }
    const int64_t window = size - pos < INT32_MAX ? size - pos : INT32_MAX;
    problem = thrift_scan(data + pos, window, 0, schema, &table, &header);
    header.stop += pos;
    if (problem != THRIFT_OK) {
      pos = header.stop;
      break;
    }
    const int64_t type = values[SLOT_TYPE];
    const int64_t uncompressed = values[SLOT_UNCOMPRESSED], compressed = values[SLOT_COMPRESSED];
    const int slot = struct_slot(type);
    if (type == THRIFT_ABSENT || uncompressed == THRIFT_ABSENT || compressed == THRIFT_ABSENT ||
        (slot != 0 && (values[slot] == THRIFT_ABSENT || values[slot + 1] == THRIFT_ABSENT ||
                       values[slot + 2] == THRIFT_ABSENT))) {
      problem = PAGES_LACKS_FIELD;
      break;
    }
    const int64_t num_values = slot != 0 ? values[slot + 1] : -1;
    const int64_t encoding = slot != 0 ? values[slot + 2] : -1;
    if (!is_natural(uncompressed) || !is_natural(compressed) ||
        (slot != 0 && (!is_natural(num_values) || !is_natural(encoding)))) {
      problem = PAGES_BAD_NUMBER;
      break;
    }
    if (compressed > size - header.stop) {
      problem = THRIFT_ENDS_EARLY;
      break;
    }
    int64_t *page = pages + found * PAGE_COLUMNS;
    page[PAGE_POSITION] = pos;
    page[PAGE_HEADER_BYTES] = header.stop - pos;
    page[PAGE_COMPRESSED] = compressed;
    page[PAGE_UNCOMPRESSED] = uncompressed;
    page[PAGE_TYPE] = type;
    page[PAGE_NUM_VALUES] = num_values;
    page[PAGE_ENCODING] = encoding;
    pos = header.stop + compressed;
  }
  end->stop = pos;
  end->rows = found;
  return problem;
}
