/* Loads and stores of little-endian words at any address. memcpy of a constant size is one
 * instruction; the module refuses to be imported on big-endian machines. */
#ifndef PBW_MEMORY_H
#define PBW_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t load64(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static inline uint32_t load32(const uint8_t *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static inline void store64(uint8_t *to, uint64_t word) { memcpy(to, &word, sizeof word); }

static inline uint64_t rotl64(uint64_t word, int bits) {
  return (word << bits) | (word >> (64 - bits));
}

#endif
