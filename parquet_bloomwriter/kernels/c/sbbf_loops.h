/* Insert, check and count, in one variant: see vectors.h.
 *
 * A block is one vector of 8 x 32 bits. Blocks of a filter that exceeds the cache are prefetched
 * `AHEAD` hashes before they are needed. This hides the latency of memory so well that sorting the
 * hashes by block first does not pay.
 */

#if WITH_VECTORS
#ifndef PBW_BLOCK
#define PBW_BLOCK
typedef uint32_t Block __attribute__((vector_size(32)));
typedef uint64_t Quad __attribute__((vector_size(32)));
#endif

static PBW_INLINE TARGET void VARIANT(mask)(uint32_t low, Block *mask) {
  const Block salt = SALT_WORDS, one = {1, 1, 1, 1, 1, 1, 1, 1};
  *mask = one << ((salt * low) >> 27);
}

static PBW_INLINE TARGET void VARIANT(insert_one)(uint8_t *block, uint32_t low) {
  Block bits, mask;
  VARIANT(mask)(low, &mask);
  memcpy(&bits, block, sizeof bits);
  bits |= mask;
  memcpy(block, &bits, sizeof bits);
}

static PBW_INLINE TARGET int VARIANT(check_one)(const uint8_t *block, uint32_t low) {
  Block bits, mask;
  VARIANT(mask)(low, &mask);
  memcpy(&bits, block, sizeof bits);
#ifdef WITH_AVX2
  return _mm256_testc_si256((__m256i)bits, (__m256i)mask);
#else
  Quad missing = (Quad)(~bits & mask);
  return (missing[0] | missing[1] | missing[2] | missing[3]) == 0;
#endif
}
#else
static PBW_INLINE TARGET void VARIANT(insert_one)(uint8_t *block, uint32_t low) {
  uint32_t words[WORDS];
  memcpy(words, block, BLOCK_BYTES);
  for (int w = 0; w < WORDS; w++) words[w] |= 1u << ((low * SALT[w]) >> 27);
  memcpy(block, words, BLOCK_BYTES);
}

static PBW_INLINE TARGET int VARIANT(check_one)(const uint8_t *block, uint32_t low) {
  uint32_t words[WORDS], missing = 0;
  memcpy(words, block, BLOCK_BYTES);
  for (int w = 0; w < WORDS; w++) missing |= ~words[w] & 1u << ((low * SALT[w]) >> 27);
  return missing == 0;
}
#endif

static TARGET void VARIANT(insert)(uint8_t *blocks, int64_t num_blocks, const uint8_t *hashes,
                                   int64_t count) {
  int64_t i = 0;
  if (num_blocks > NEAR_BLOCKS)
    PBW_UNROLL
    for (; i < count - AHEAD; i++) {
      PBW_PREFETCH(block_of(blocks, num_blocks, hashes + 8 * (i + AHEAD)));
      VARIANT(insert_one)(block_of(blocks, num_blocks, hashes + 8 * i), load32(hashes + 8 * i));
    }
  PBW_UNROLL
  for (; i < count; i++)
    VARIANT(insert_one)(block_of(blocks, num_blocks, hashes + 8 * i), load32(hashes + 8 * i));
}

static TARGET int64_t VARIANT(count)(const uint8_t *blocks, int64_t num_blocks,
                                     const uint8_t *hashes, int64_t count) {
  int64_t i = 0, found = 0;
  if (num_blocks > NEAR_BLOCKS) {
    PBW_UNROLL
    for (; i < count - AHEAD; i++) {
      PBW_PREFETCH(block_of(blocks, num_blocks, hashes + 8 * (i + AHEAD)));
      found += VARIANT(check_one)(block_of(blocks, num_blocks, hashes + 8 * i),
                                  load32(hashes + 8 * i));
    }
  }
  PBW_UNROLL
  for (; i < count; i++)
    found +=
        VARIANT(check_one)(block_of(blocks, num_blocks, hashes + 8 * i), load32(hashes + 8 * i));
  return found;
}

/* Flags are added up afterwards, in vectors: that is quicker than one by one. */
static TARGET int64_t VARIANT(check)(const uint8_t *blocks, int64_t num_blocks,
                                     const uint8_t *hashes, int64_t count, uint8_t *flags) {
  int64_t i = 0, found = 0;
  if (num_blocks > NEAR_BLOCKS) {
    PBW_UNROLL
    for (; i < count - AHEAD; i++) {
      PBW_PREFETCH(block_of(blocks, num_blocks, hashes + 8 * (i + AHEAD)));
      flags[i] = (uint8_t)VARIANT(check_one)(block_of(blocks, num_blocks, hashes + 8 * i),
                                             load32(hashes + 8 * i));
    }
  }
  PBW_UNROLL
  for (; i < count; i++)
    flags[i] = (uint8_t)VARIANT(check_one)(block_of(blocks, num_blocks, hashes + 8 * i),
                                           load32(hashes + 8 * i));
  for (i = 0; i < count; i++) found += flags[i];
  return found;
}

static PBW_INLINE TARGET uint64_t VARIANT(popcount)(uint64_t word) {
#if PBW_HAS_VECTORS
  return (uint64_t)__builtin_popcountll(word);
#else
  word -= (word >> 1) & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
  return (((word + (word >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F)) *
          UINT64_C(0x0101010101010101)) >> 56;
#endif
}

static TARGET int64_t VARIANT(count_bits)(const uint8_t *blocks, int64_t num_blocks) {
  uint64_t found = 0;
  for (int64_t i = 0; i < 4 * num_blocks; i++) found += VARIANT(popcount)(load64(blocks + 8 * i));
  return (int64_t)found;
}

static TARGET uint64_t VARIANT(sum_products)(const uint8_t *blocks, int64_t num_blocks,
                                             uint64_t *high) {
  uint64_t sum = 0;
  *high = 0;
  for (int64_t i = 0; i < num_blocks; i++, blocks += BLOCK_BYTES) {
    uint64_t product = 1;
    for (int w = 0; w < WORDS; w++) product *= VARIANT(popcount)(load32(blocks + 4 * w));
    sum += product;
    *high += sum < product;
  }
  return sum;
}
