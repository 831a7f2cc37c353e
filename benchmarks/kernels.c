/* The loops of our kernels in C: the yardstick of `kernels.py` and `slices.py`.
 *
 * Same algorithms and same memory layout, without prefetching: what a careful programmer
 * writes and `gcc -O3 -march=native` makes of it. Insert and check come twice, over the
 * eight words one by one as in the specification, and with a block as one vector (GCC's
 * vector extension). Words are loaded whole; memcpy of a constant size is one load.
 */
#include <stdint.h>
#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu;
static const uint64_t P3 = 0x165667B19E3779F9u, P4 = 0x85EBCA77C2B2AE63u;
static const uint64_t P5 = 0x27D4EB2F165667C5u;

#define SALT_WORDS                                                                       \
  {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,                                   \
   0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U}

/* XXH64, seed 0 */

static inline uint64_t load64(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return word;
}

static inline uint64_t load32(const uint8_t *p) {
  uint32_t word;
  memcpy(&word, p, 4);
  return word;
}

static inline uint64_t rotl(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

static inline uint64_t round1(uint64_t acc, uint64_t word) {
  return rotl(acc + word * P2, 31) * P1;
}

static inline uint64_t merge(uint64_t h, uint64_t acc) {
  return (h ^ round1(0, acc)) * P1 + P4;
}

static inline uint64_t word_step(uint64_t h, uint64_t word) {
  return rotl(h ^ round1(0, word), 27) * P1 + P4;
}

static inline uint64_t avalanche(uint64_t h) {
  h = (h ^ (h >> 33)) * P2;
  h = (h ^ (h >> 29)) * P3;
  return h ^ (h >> 32);
}

static inline uint64_t xxh64(const uint8_t *p, uint64_t length) {
  const uint8_t *stop = p + length;
  uint64_t h = P5;
  if (length >= 32) {
    uint64_t v1 = P1 + P2, v2 = P2, v3 = 0, v4 = -P1;
    for (; p + 32 <= stop; p += 32) {
      v1 = round1(v1, load64(p));
      v2 = round1(v2, load64(p + 8));
      v3 = round1(v3, load64(p + 16));
      v4 = round1(v4, load64(p + 24));
    }
    h = rotl(v1, 1) + rotl(v2, 7) + rotl(v3, 12) + rotl(v4, 18);
    h = merge(merge(merge(merge(h, v1), v2), v3), v4);
  }
  h += length;
  for (; p + 8 <= stop; p += 8) h = word_step(h, load64(p));
  if (p + 4 <= stop) {
    h = rotl(h ^ (load32(p) * P1), 23) * P2 + P3;
    p += 4;
  }
  for (; p < stop; p++) h = rotl(h ^ (*p * P5), 11) * P1;
  return avalanche(h);
}

void hash_int64(const uint8_t *values, int64_t count, uint64_t *restrict hashes) {
  for (int64_t i = 0; i < count; i++)
    hashes[i] = avalanche(word_step(P5 + 8, load64(values + 8 * i)));
}

void hash_strings(const uint8_t *values, const int32_t *offsets, int64_t count,
                  uint64_t *restrict hashes) {
  for (int64_t i = 0; i < count; i++)
    hashes[i] = xxh64(values + offsets[i], (uint64_t)(offsets[i + 1] - offsets[i]));
}

/* Split block Bloom filter, word by word */

static const uint32_t SALT[8] = SALT_WORDS;

static inline uint64_t block_index(uint64_t h, uint64_t num_blocks) {
  return ((h >> 32) * num_blocks) >> 32;
}

void insert_words(uint32_t *restrict blocks, uint64_t num_blocks,
                  const uint64_t *restrict hashes, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t *block = blocks + 8 * block_index(hashes[i], num_blocks);
    for (int w = 0; w < 8; w++) block[w] |= 1u << (((uint32_t)hashes[i] * SALT[w]) >> 27);
  }
}

void check_words(const uint32_t *restrict blocks, uint64_t num_blocks,
                 const uint64_t *restrict hashes, int64_t count, uint8_t *restrict flags) {
  for (int64_t i = 0; i < count; i++) {
    const uint32_t *block = blocks + 8 * block_index(hashes[i], num_blocks);
    uint32_t missing = 0;
    for (int w = 0; w < 8; w++)
      missing |= ~block[w] & (1u << (((uint32_t)hashes[i] * SALT[w]) >> 27));
    flags[i] = missing == 0;
  }
}

/* Split block Bloom filter, a block as one vector */

typedef uint32_t Block __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t Quad __attribute__((vector_size(32)));

static inline Block mask(uint64_t h) {
  const Block salt = SALT_WORDS, one = {1, 1, 1, 1, 1, 1, 1, 1};
  return one << ((salt * (uint32_t)h) >> 27);
}

void insert_vector(Block *restrict blocks, uint64_t num_blocks,
                   const uint64_t *restrict hashes, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    blocks[block_index(hashes[i], num_blocks)] |= mask(hashes[i]);
}

void check_vector(const Block *restrict blocks, uint64_t num_blocks,
                  const uint64_t *restrict hashes, int64_t count, uint8_t *restrict flags) {
  for (int64_t i = 0; i < count; i++) {
    Quad missing = (Quad)(~blocks[block_index(hashes[i], num_blocks)] & mask(hashes[i]));
    flags[i] = (missing[0] | missing[1] | missing[2] | missing[3]) == 0;
  }
}

/* Hash and insert in one loop: the least that building a filter of values in memory takes */

void build_int64(Block *restrict blocks, uint64_t num_blocks, const uint8_t *restrict values,
                 int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t h = avalanche(word_step(P5 + 8, load64(values + 8 * i)));
    blocks[block_index(h, num_blocks)] |= mask(h);
  }
}

void build_strings(Block *restrict blocks, uint64_t num_blocks, const uint8_t *restrict values,
                   const int32_t *restrict offsets, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t h = xxh64(values + offsets[i], (uint64_t)(offsets[i + 1] - offsets[i]));
    blocks[block_index(h, num_blocks)] |= mask(h);
  }
}

/* The AND of eight rows of bits: the least that a lookup in any bit-sliced index takes (COBS) */

int64_t and_rows(const uint8_t *bytes, const int64_t *starts, int64_t num_words,
                 int64_t *restrict found) {
  int64_t num_found = 0;
  for (int64_t i = 0; i < num_words; i++) {
    uint64_t all = ~UINT64_C(0);
    for (int row = 0; row < 8; row++) all &= load64(bytes + starts[row] + 8 * i);
    for (; all; all &= all - 1) found[num_found++] = 64 * i + __builtin_ctzll(all);
  }
  return num_found;
}
