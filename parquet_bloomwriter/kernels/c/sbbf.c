#include "sbbf.h"

#include "memory.h"
#include "vectors.h"

#if PBW_HAS_X86
#include <immintrin.h>
#endif

enum {
  NEAR_BLOCKS = 1 << 15, /* 1 MiB: a filter up to this size stays in the cache; no prefetch */
  AHEAD = 128,           /* hashes between the prefetch of a block and its use */
  WORDS = 8,
};

#if !PBW_BASELINE_VECTORS
static const uint32_t SALT[WORDS] = SALT_WORDS;
#endif

static PBW_INLINE uint8_t *block_of(const uint8_t *blocks, int64_t num_blocks,
                                    const uint8_t *hash) {
  /* The upper half of the hash is loaded alone: the lower goes into vectors from memory. */
  uint64_t upper = load32(hash + 4);
  return (uint8_t *)blocks + BLOCK_BYTES * ((upper * (uint64_t)num_blocks) >> 32);
}

#define VARIANT(name) name##_baseline
#define TARGET
#define WITH_VECTORS PBW_BASELINE_VECTORS
#include "sbbf_loops.h"
#undef VARIANT
#undef TARGET
#undef WITH_VECTORS

#if PBW_HAS_X86
#define VARIANT(name) name##_avx2
#define TARGET PBW_AVX2
#define WITH_VECTORS 1
#define WITH_AVX2
#include "sbbf_loops.h"
#undef VARIANT
#undef TARGET
#undef WITH_VECTORS
#endif

void sbbf_insert(uint8_t *blocks, int64_t num_blocks, const uint8_t *hashes, int64_t count) {
#if PBW_HAS_X86
  if (chosen_variant >= AVX2) {
    insert_avx2(blocks, num_blocks, hashes, count);
    return;
  }
#endif
  insert_baseline(blocks, num_blocks, hashes, count);
}

int64_t sbbf_check(const uint8_t *blocks, int64_t num_blocks, const uint8_t *hashes, int64_t count,
                   uint8_t *flags) {
#if PBW_HAS_X86
  if (chosen_variant >= AVX2)
    return flags != NULL ? check_avx2(blocks, num_blocks, hashes, count, flags)
                         : count_avx2(blocks, num_blocks, hashes, count);
#endif
  return flags != NULL ? check_baseline(blocks, num_blocks, hashes, count, flags)
                       : count_baseline(blocks, num_blocks, hashes, count);
}

int64_t sbbf_count_bits(const uint8_t *blocks, int64_t num_blocks) {
#if PBW_HAS_X86
  if (chosen_variant >= AVX2) return count_bits_avx2(blocks, num_blocks);
#endif
  return count_bits_baseline(blocks, num_blocks);
}

uint64_t sbbf_sum_products(const uint8_t *blocks, int64_t num_blocks, uint64_t *high) {
#if PBW_HAS_X86
  if (chosen_variant >= AVX2) return sum_products_avx2(blocks, num_blocks, high);
#endif
  return sum_products_baseline(blocks, num_blocks, high);
}

static PBW_INLINE void join(uint8_t *block, const uint8_t *other) {
  uint64_t a[4], b[4];
  memcpy(a, block, BLOCK_BYTES);
  memcpy(b, other, BLOCK_BYTES);
  for (int i = 0; i < 4; i++) a[i] |= b[i];
  memcpy(block, a, BLOCK_BYTES);
}

void sbbf_fold(const uint8_t *blocks, int64_t num_blocks, int64_t factor, uint8_t *folded) {
  for (int64_t i = 0; i < num_blocks / factor; i++, folded += BLOCK_BYTES) {
    uint64_t all[4] = {0, 0, 0, 0}, words[4];
    for (int64_t k = 0; k < factor; k++, blocks += BLOCK_BYTES) {
      memcpy(words, blocks, BLOCK_BYTES);
      for (int w = 0; w < 4; w++) all[w] |= words[w];
    }
    memcpy(folded, all, BLOCK_BYTES);
  }
}

void sbbf_unite(uint8_t *blocks, int64_t num_blocks, const uint8_t *others, int64_t num_others) {
  int64_t repeats = num_blocks / num_others;
  for (int64_t i = 0; i < num_others; i++, others += BLOCK_BYTES)
    for (int64_t k = 0; k < repeats; k++, blocks += BLOCK_BYTES) join(blocks, others);
}
