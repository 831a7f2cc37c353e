#include "thrift.h"

#include <stddef.h>

enum { HEADER, START, STOP, COLUMNS }; /* of spans */

enum { TRUE_ = 1, FALSE_, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID };

enum { SHARES_ROW, UNKNOWN_SLOT, MARK_ID, MARK_SLOT, MIN_BYTES }; /* traits */

/* What is open: a struct or list, its row, and where to note its end. */
typedef struct {
  int64_t kind, row;
  int64_t last;           /* field id before */
  int64_t left;           /* elements left in a list; -1 for a struct */
  int64_t element, other; /* types of the elements: two for a map, in turn */
  int64_t owner_row, owner_slot;
} Open;

int thrift_schema_fits(const ThriftSchema *schema, int64_t width) {
  /* The root takes the first row, so that it must not share another's. */
  if (schema->num_kinds < 2 || width < 1 || schema->traits[THRIFT_TRAITS + SHARES_ROW] != 0)
    return 0;
  for (int64_t i = 0; i < schema->num_kinds * THRIFT_MAX_FIELD; i++) {
    int64_t slot = schema->slots[i], child = schema->children[i];
    if (slot >= width || child < 0 || child >= schema->num_kinds) return 0;
  }
  for (int64_t kind = 0; kind < schema->num_kinds; kind++) {
    const int64_t *traits = schema->traits + kind * THRIFT_TRAITS;
    int has_mark = traits[MARK_ID] > 0;
    if (traits[UNKNOWN_SLOT] >= width || traits[MARK_SLOT] >= width) return 0;
    if (has_mark && traits[MARK_SLOT] < 0) return 0;
  }
  return 1;
}

static void begin_row(const ThriftTable *table, int64_t row, int64_t kind) {
  int64_t *values = table->values + row * table->width;
  int32_t *spans = table->spans + row * table->width * COLUMNS;
  table->kinds[row] = kind;
  for (int64_t i = 0; i < table->width; i++) values[i] = THRIFT_ABSENT;
  for (int64_t i = 0; i < table->width * COLUMNS; i++) spans[i] = -1;
}

#define SPAN(row, slot) (table->spans + ((row) * table->width + (slot)) * COLUMNS)
#define VALUE(row, slot) (table->values[(row) * table->width + (slot)])
#define FAIL(problem, position)                \
  do {                                         \
    end->stop = (position);                    \
    end->rows = rows;                          \
    return (problem);                          \
  } while (0)

int thrift_scan(const uint8_t *data, int64_t limit, int64_t pos, const ThriftSchema *schema,
                const ThriftTable *table, ThriftEnd *end) {
  Open stack[THRIFT_MAX_DEPTH];
  Open at = {.left = 0, .owner_row = -1, .owner_slot = -1, .element = STRUCT, .other = STRUCT};
  int64_t rows = 0, depth = 0;
  int64_t wire = STRUCT, slot = THRIFT_IGNORED, child = 1;
  int64_t wanted = 0; /* the type that elements of the next list must have, or 0 */
  int64_t header = pos;
  for (;;) {
    /* A value of type `wire` stands at `pos`; (at.row, slot) is where to note it, if slot >= 0. */
    const int64_t start = pos;
    int64_t value = 0, inner = 0, second = 0;
    int follows = wire == I16 || wire == I32 || wire == I64 || wire == BINARY || wire == MAP;
    if (wire == BYTE || wire == LIST || wire == SET) {
      if (pos >= limit) FAIL(THRIFT_ENDS_EARLY, pos);
      value = data[pos++];
      if (wire != BYTE) {
        inner = value & 15;
        value >>= 4;
        follows = value == 15;
      }
    } else if (wire == TRUE_ || wire == FALSE_) {
      value = FALSE_ - wire;
      pos += at.left >= 0; /* in a list it has a byte of its own */
    } else if (wire == DOUBLE) {
      pos += 8;
    } else if (wire == UUID) {
      pos += 16;
    } else if (wire != STRUCT && !follows) {
      FAIL(THRIFT_NO_SUCH_TYPE, pos);
    }
    if (follows) {
      uint64_t number = 0;
      for (int shift = 0;; shift += 7) {
        if (pos >= limit) FAIL(THRIFT_ENDS_EARLY, pos);
        uint64_t byte = data[pos];
        if (shift >= 63 && byte > 1) FAIL(THRIFT_LONG_VARINT, pos);
        number |= (byte & 127) << shift;
        pos++;
        if (byte < 128) break;
      }
      if (wire < BINARY) number = (number >> 1) ^ (0 - (number & 1));
      value = (int64_t)number;
    }
    if (wire == BINARY) {
      if (value < 0 || value > limit - pos) FAIL(THRIFT_ENDS_EARLY, start);
      pos += value;
    } else if (wire == MAP && value != 0) {
      if (pos >= limit) FAIL(THRIFT_ENDS_EARLY, pos);
      inner = data[pos] >> 4;
      second = data[pos] & 15;
      pos++;
    }
    if (pos > limit) FAIL(THRIFT_ENDS_EARLY, start);
    if (slot >= 0) {
      int32_t *span = SPAN(at.row, slot);
      if (span[HEADER] >= 0) FAIL(THRIFT_TWICE, header);
      VALUE(at.row, slot) = value;
      span[HEADER] = (int32_t)header;
      span[START] = (int32_t)start;
      span[STOP] = (int32_t)pos;
    }
    if (wire >= LIST && wire <= STRUCT) {
      /* Go down into the list, map or struct. */
      if (depth == THRIFT_MAX_DEPTH) FAIL(THRIFT_TOO_DEEP, start);
      stack[depth++] = at;
      at.owner_row = at.row;
      at.owner_slot = slot;
      at.kind = child;
      if (wire == STRUCT) {
        at.last = 0;
        at.left = -1;
        if (child != 0 && !schema->traits[child * THRIFT_TRAITS + SHARES_ROW]) {
          if (rows == table->capacity) FAIL(THRIFT_FULL, pos);
          at.row = rows++;
          begin_row(table, at.row, child);
          SPAN(at.row, 0)[HEADER] = (int32_t)start;
          SPAN(at.row, 0)[START] = (int32_t)start;
        }
      } else {
        at.left = wire == MAP && value >= 0 && value <= limit ? 2 * value : value;
        at.element = inner;
        at.other = wire == MAP ? second : inner;
        if (at.left < 0 || at.left > limit - pos) FAIL(THRIFT_TOO_MANY_ELEMENTS, start);
        int are_integers = inner >= I16 && inner <= I64 && wanted >= I16 && wanted <= I64;
        if (wanted != 0 && at.left != 0 && inner != wanted && !are_integers)
          FAIL(THRIFT_OTHER_ELEMENTS, start);
      }
    }
    /* Find the next value, closing whatever ends here. */
    for (;;) {
      if (at.left > 0) {
        at.left--;
        wire = at.element;
        at.element = at.other;
        at.other = wire;
        slot = THRIFT_IGNORED;
        child = at.kind;
        wanted = 0;
        header = pos;
        break;
      }
      if (at.left < 0) {
        if (pos >= limit) FAIL(THRIFT_ENDS_EARLY, pos);
        const int64_t *traits = schema->traits + at.kind * THRIFT_TRAITS;
        const int64_t before = at.last;
        header = pos;
        int64_t byte = data[pos++];
        const int ends = byte == 0;
        if (!ends) {
          wire = byte & 15;
          at.last += byte >> 4;
          if (byte < 16) { /* the id follows, a zigzag varint of 16 bits */
            int64_t id = 0;
            for (int shift = 0;; shift += 7) {
              if (pos >= limit) FAIL(THRIFT_ENDS_EARLY, pos);
              if (shift > 14) FAIL(THRIFT_LONG_VARINT, pos);
              byte = data[pos++];
              id |= (byte & 127) << shift;
              if (byte < 128) break;
            }
            at.last = (id >> 1) ^ -(id & 1);
          }
        }
        if (traits[MARK_ID] > 0 && (ends || at.last >= traits[MARK_ID])) {
          const int64_t mark = traits[MARK_SLOT];
          if (SPAN(at.row, mark)[HEADER] < 0) {
            VALUE(at.row, mark) = before;
            SPAN(at.row, mark)[HEADER] = (int32_t)header;
          }
        }
        if (!ends) {
          slot = THRIFT_UNKNOWN;
          child = 0;
          wanted = 0;
          if (at.last > 0 && at.last < THRIFT_MAX_FIELD) {
            const int64_t field = at.kind * THRIFT_MAX_FIELD + at.last;
            const int64_t expected = schema->wires[field] & 15;
            const int is_boolean = expected == TRUE_ && wire == FALSE_;
            slot = schema->slots[field];
            child = schema->children[field];
            if (slot >= 0 && expected != wire && !is_boolean) {
              slot = THRIFT_UNKNOWN;
              child = 0;
            }
            if (wire == LIST) wanted = schema->wires[field] >> 4;
          }
          const int64_t unknown = traits[UNKNOWN_SLOT];
          if (slot == THRIFT_UNKNOWN && unknown >= 0 && SPAN(at.row, unknown)[HEADER] < 0) {
            VALUE(at.row, unknown) = at.last;
            SPAN(at.row, unknown)[HEADER] = (int32_t)header;
            SPAN(at.row, unknown)[START] = (int32_t)pos;
          }
          break;
        }
        if (at.kind != 0 && !traits[SHARES_ROW]) {
          SPAN(at.row, 0)[STOP] = (int32_t)pos;
          if (pos - SPAN(at.row, 0)[START] < traits[MIN_BYTES]) FAIL(THRIFT_SHORT_STRUCT, pos);
        }
      }
      /* The struct or list ends here: go up. */
      if (at.owner_slot >= 0) SPAN(at.owner_row, at.owner_slot)[STOP] = (int32_t)pos;
      at = stack[--depth];
      if (depth == 0) FAIL(THRIFT_OK, pos);
    }
  }
}
