/* The loops over arrays; included by xxh64.c, which defines before:
 *
 *     hash_one(data, length)                    the hash of one value
 *     hash_run(values, width, count, hashes)    the hashes of values of one width
 */
#include "arrays.h"
#include "memory.h"

enum { RUN = 1024, INLINE_BYTES = 12, VIEW_BYTES = 16 };

static inline int is_valid(const Slots *slots, int64_t slot) {
  int64_t bit = slots->first_bit + slot;
  return (slots->valid[bit >> 3] >> (bit & 7)) & 1;
}

/* Write the hashes of valid slots behind the `kept` that were written; return how many there are then.
 * Each hash is written, and overwritten by the next if its slot is not valid: kept <= first + i. */
static int64_t keep_valid(const Slots *slots, int64_t first, int64_t size, const uint64_t *run,
                          int64_t kept) {
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    int64_t bit = slots->first_bit + first + i;
    const uint8_t *bytes = slots->valid + (bit >> 3);
    unsigned bits = bytes[0];
    if (bit & 7) bits = (bits | (unsigned)bytes[1] << 8) >> (bit & 7);
    uint8_t *to = slots->hashes;
    for (int k = 0; k < 8; k++) {
      store64(to + 8 * kept, run[i + k]);
      kept += bits >> k & 1;
    }
  }
  for (; i < size; i++) {
    store64(slots->hashes + 8 * kept, run[i]);
    kept += is_valid(slots, first + i);
  }
  return kept;
}

int64_t xxh64_fixed(const Fixed *array, const Slots *slots) {
  uint64_t run[RUN];
  int64_t kept = 0;
  if (slots->valid == NULL) {
    hash_run(array->values, array->width, slots->count, slots->hashes);
    return slots->count;
  }
  for (int64_t first = 0; first < slots->count; first += RUN) {
    int64_t size = slots->count - first < RUN ? slots->count - first : RUN;
    hash_run(array->values + first * array->width, array->width, size, (uint8_t *)run);
    kept = keep_valid(slots, first, size, run, kept);
  }
  return kept;
}

static PBW_INLINE uint64_t offset_at(const Variable *array, int64_t slot, int is_wide) {
  return is_wide ? load64(array->offsets + 8 * slot) : load32(array->offsets + 4 * slot);
}

static PBW_INLINE int64_t variable_loop(const Variable *array, const Slots *slots, int is_wide,
                                        int has_nulls) {
  int64_t kept = 0;
  uint64_t start = offset_at(array, 0, is_wide);
  if (start > array->size) return -1;
  for (int64_t i = 0; i < slots->count; i++) {
    uint64_t stop = offset_at(array, i + 1, is_wide);
    if (stop < start || stop > array->size) return -1 - i;
    store64(slots->hashes + 8 * kept, hash_one(array->values + start, (size_t)(stop - start)));
    kept += has_nulls ? is_valid(slots, i) : 1;
    start = stop;
  }
  return kept;
}

int64_t xxh64_variable(const Variable *array, const Slots *slots) {
  if (slots->count == 0) return 0;
  if (slots->valid != NULL) return variable_loop(array, slots, array->is_wide, 1);
  if (array->is_wide) return variable_loop(array, slots, 1, 0);
  return variable_loop(array, slots, 0, 0);
}

int64_t xxh64_views(const Views *array, const Slots *slots) {
  int64_t kept = 0;
  for (int64_t i = 0; i < slots->count; i++) {
    if (slots->valid != NULL && !is_valid(slots, i)) continue;
    const uint8_t *view = array->views + VIEW_BYTES * i;
    uint32_t length = load32(view);
    const uint8_t *value = view + 4;
    if (length > INLINE_BYTES) {
      uint32_t number = load32(view + 8), start = load32(view + 12);
      if (length > INT32_MAX || number >= (uint64_t)array->num_buffers) return -1 - i;
      const Span *buffer = &array->buffers[number];
      if (start > buffer->size || length > buffer->size - start) return -1 - i;
      value = buffer->start + start;
    }
    store64(slots->hashes + 8 * kept, hash_one(value, length));
    kept++;
  }
  return kept;
}
