/* XXH64 with seed 0, where `rotl` rotates 64 bits to the left and arithmetic is modulo 2**64:
 *
 *     round(acc, w)  = rotl(acc + w * PRIME_2, 31) * PRIME_1
 *     inputs of 32 bytes or more run four accumulators over stripes of 4 x 8 bytes, then
 *     merge them; shorter ones start from PRIME_5. Then the length is added, the remaining
 *     words of 8, 4 and 1 bytes are mixed in, in that order, and `avalanche` ends it.
 *
 * Values of 4 and 8 bytes are hashed eight at a time, in vectors: see xxh64_loops.h.
 */
#include "xxh64.h"

#include "memory.h"
#include "vectors.h"

#if PBW_HAS_X86
#include <immintrin.h>
#endif

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

static PBW_INLINE uint64_t mix_round(uint64_t accumulator, uint64_t word) {
  return rotl64(accumulator + word * PRIME_2, 31) * PRIME_1;
}

static PBW_INLINE uint64_t merge(uint64_t h, uint64_t accumulator) {
  return (h ^ mix_round(0, accumulator)) * PRIME_1 + PRIME_4;
}

static PBW_INLINE uint64_t word_step(uint64_t h, uint64_t word) {
  return rotl64(h ^ mix_round(0, word), 27) * PRIME_1 + PRIME_4;
}

static PBW_INLINE uint64_t half_word_step(uint64_t h, uint32_t word) {
  return rotl64(h ^ (word * PRIME_1), 23) * PRIME_2 + PRIME_3;
}

static PBW_INLINE uint64_t avalanche(uint64_t h) {
  h = (h ^ (h >> 33)) * PRIME_2;
  h = (h ^ (h >> 29)) * PRIME_3;
  return h ^ (h >> 32);
}

static PBW_INLINE uint64_t hash_one(const uint8_t *data, size_t length) {
  size_t left = length;
  uint64_t h = PRIME_5;
  if (left >= 32) {
    uint64_t v1 = PRIME_1 + PRIME_2, v2 = PRIME_2, v3 = 0, v4 = 0 - PRIME_1;
    for (; left >= 32; left -= 32, data += 32) {
      v1 = mix_round(v1, load64(data));
      v2 = mix_round(v2, load64(data + 8));
      v3 = mix_round(v3, load64(data + 16));
      v4 = mix_round(v4, load64(data + 24));
    }
    h = rotl64(v1, 1) + rotl64(v2, 7) + rotl64(v3, 12) + rotl64(v4, 18);
    h = merge(merge(merge(merge(h, v1), v2), v3), v4);
  }
  h += length;
  for (; left >= 8; left -= 8, data += 8) h = word_step(h, load64(data));
  if (left >= 4) {
    h = half_word_step(h, load32(data));
    left -= 4;
    data += 4;
  }
  for (; left > 0; left--, data++) h = rotl64(h ^ (*data * PRIME_5), 11) * PRIME_1;
  return avalanche(h);
}

uint64_t xxh64(const uint8_t *data, size_t length) { return hash_one(data, length); }

#define VARIANT(name) name##_baseline
#define TARGET
#define WITH_VECTORS PBW_BASELINE_VECTORS
#include "xxh64_loops.h"
#undef VARIANT
#undef TARGET
#undef WITH_VECTORS

#if PBW_HAS_X86
#define VARIANT(name) name##_avx2
#define TARGET PBW_AVX2
#define WITH_VECTORS 1
#include "xxh64_loops.h"
#undef VARIANT
#undef TARGET
#undef WITH_VECTORS

#define VARIANT(name) name##_avx512
#define TARGET PBW_AVX512
#define WITH_VECTORS 1
#define WITH_AVX512
#include "xxh64_loops.h"
#undef VARIANT
#undef TARGET
#undef WITH_VECTORS
#endif

static void words(const uint8_t *values, int64_t count, uint8_t *hashes) {
#if PBW_HAS_X86
  if (chosen_variant == AVX512) {
    words_avx512(values, count, hashes);
    return;
  }
  if (chosen_variant == AVX2) {
    words_avx2(values, count, hashes);
    return;
  }
#endif
  words_baseline(values, count, hashes);
}

static void half_words(const uint8_t *values, int64_t count, uint8_t *hashes) {
#if PBW_HAS_X86
  if (chosen_variant == AVX512) {
    half_words_avx512(values, count, hashes);
    return;
  }
  if (chosen_variant == AVX2) {
    half_words_avx2(values, count, hashes);
    return;
  }
#endif
  half_words_baseline(values, count, hashes);
}

static PBW_INLINE void each(const uint8_t *values, size_t width, int64_t count, uint8_t *hashes) {
  for (int64_t i = 0; i < count; i++)
    store64(hashes + 8 * i, hash_one(values + (size_t)i * width, width));
}

static void hash_run(const uint8_t *values, int64_t width, int64_t count, uint8_t *hashes) {
  switch (width) {
    case 4: half_words(values, count, hashes); break;
    case 8: words(values, count, hashes); break;
    case 12: each(values, 12, count, hashes); break; /* INT96 */
    case 16: each(values, 16, count, hashes); break; /* UUID */
    default: each(values, (size_t)width, count, hashes);
  }
}

#include "hash_loops.h"
