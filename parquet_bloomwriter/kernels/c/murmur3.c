/* MurmurHash3_x64_128.
 *
 * The drafts of the Parquet specification, section "Hash Function", take the low 64 bits of the
 * 128-bit hash of a value's PLAIN bytes. Two words h1 and h2 start as the seed; `rotl` rotates 64
 * bits to the left and arithmetic is modulo 2**64:
 *
 *     for each 16 bytes, two words k1 and k2:
 *         h1 ^= rotl(k1 * C1, 31) * C2;  h1 = (rotl(h1, 27) + h2) * 5 + 0x52DCE729
 *         h2 ^= rotl(k2 * C2, 33) * C1;  h2 = (rotl(h2, 31) + h1) * 5 + 0x38495AB5
 *     the last 0 to 15 bytes are two words filled up with zero bytes, which only enter h1 and h2
 *     by ^=
 *     h1 ^= length;  h2 ^= length;  h1 += h2;  h2 += h1
 *     result: mix(h1) + mix(h2)
 *
 * The 32 bits of the upper half are returned in reverse order, as `sbbf.murmur` needs them.
 */
#include "murmur3.h"

#include "memory.h"
#include "vectors.h"

#define C1 UINT64_C(0x87C37B91114253D5)
#define C2 UINT64_C(0x4CF5AD432745937F)

static inline uint64_t scramble_1(uint64_t k1) { return rotl64(k1 * C1, 31) * C2; }

static inline uint64_t scramble_2(uint64_t k2) { return rotl64(k2 * C2, 33) * C1; }

static inline uint64_t mix(uint64_t h) {
  h = (h ^ (h >> 33)) * UINT64_C(0xFF51AFD7ED558CCD);
  h = (h ^ (h >> 33)) * UINT64_C(0xC4CEB9FE1A85EC53);
  return h ^ (h >> 33);
}

static inline uint64_t reverse_upper(uint64_t h) {
  uint32_t upper = (uint32_t)(h >> 32);
  upper = ((upper & 0x55555555u) << 1) | ((upper >> 1) & 0x55555555u);
  upper = ((upper & 0x33333333u) << 2) | ((upper >> 2) & 0x33333333u);
  upper = ((upper & 0x0F0F0F0Fu) << 4) | ((upper >> 4) & 0x0F0F0F0Fu);
  upper = ((upper & 0x00FF00FFu) << 8) | ((upper >> 8) & 0x00FF00FFu);
  upper = (upper << 16) | (upper >> 16);
  return ((uint64_t)upper << 32) | (uint32_t)h;
}

/* A word of the 0 to 8 bytes that are left, filled up with zero bytes. */
static inline uint64_t short_word(const uint8_t *data, size_t length) {
  uint64_t word = 0;
  for (size_t i = 0; i < length; i++) word |= (uint64_t)data[i] << (8 * i);
  return word;
}

static inline uint64_t hash_one(const uint8_t *data, size_t length, uint32_t seed) {
  uint64_t h1 = seed, h2 = seed;
  size_t left = length;
  for (; left >= 16; left -= 16, data += 16) {
    h1 ^= scramble_1(load64(data));
    h1 = (rotl64(h1, 27) + h2) * 5 + 0x52DCE729;
    h2 ^= scramble_2(load64(data + 8));
    h2 = (rotl64(h2, 31) + h1) * 5 + 0x38495AB5;
  }
  if (left >= 8) {
    h1 ^= scramble_1(load64(data));
    if (left > 8) h2 ^= scramble_2(short_word(data + 8, left - 8));
  } else if (left > 0) {
    h1 ^= scramble_1(short_word(data, left));
  }
  h1 ^= length;
  h2 ^= length;
  h1 += h2;
  h2 += h1;
  return reverse_upper(mix(h1) + mix(h2));
}

uint64_t murmur3(const uint8_t *data, size_t length, uint32_t seed) {
  return hash_one(data, length, seed);
}

static void hash_run(const uint8_t *values, int64_t width, int64_t count, uint32_t seed,
                     uint8_t *hashes) {
  for (int64_t i = 0; i < count; i++)
    store64(hashes + 8 * i, hash_one(values + i * width, (size_t)width, seed));
}

#define HASH(name) murmur3_##name
#include "hash_loops.h"
