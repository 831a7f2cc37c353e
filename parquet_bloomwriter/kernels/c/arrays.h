/* The values of an Arrow array, as the kernels of XXH64 take them; what holds of all of them.
 *
 * Null slots get no hash: hashes are written one behind the other. Slot i is valid if bit
 * `first_bit` + i of the bitmap `valid` is set, counted from the lowest bit of its first byte;
 * without a bitmap all slots are. `hashes` has room for a word for each slot.
 */
#ifndef PBW_ARRAYS_H
#define PBW_ARRAYS_H

#include <stdint.h>

typedef struct {
  int64_t count;
  const uint8_t *valid; /* or NULL */
  int64_t first_bit;
  uint8_t *hashes;
} Slots;

/* Values of one width, one behind the other. */
typedef struct {
  const uint8_t *values;
  int64_t width; /* bytes */
} Fixed;

/* Byte strings: value i is bytes [offsets[i], offsets[i + 1]) of `values`. */
typedef struct {
  const uint8_t *values;
  uint64_t size;          /* bytes of `values` */
  const uint8_t *offsets; /* of slot 0; count + 1 unsigned words of 4 or 8 bytes */
  int is_wide;            /* whether they have 8 bytes */
} Variable;

typedef struct {
  const uint8_t *start;
  uint64_t size; /* bytes */
} Span;

/* Arrow's string and binary views, 16 bytes each: an int32 length, then up to 12 bytes of the value
 * itself, or its first 4 bytes, the int32 number of a buffer, and an int32 position in it. */
typedef struct {
  const uint8_t *views; /* of slot 0 */
  const Span *buffers;
  int64_t num_buffers;
} Views;

/* Each returns how many hashes were written; -1 - i if value i is not within its buffer. */
int64_t xxh64_fixed(const Fixed *array, const Slots *slots);
int64_t xxh64_variable(const Variable *array, const Slots *slots);
int64_t xxh64_views(const Views *array, const Slots *slots);

#endif
