/* Split block Bloom filters. Parquet specification, "Bloom Filter"; `sbbf/block.py` has a picture.
 *
 * A filter is z blocks of 32 bytes, 0 < z < 2**31, at any address.
 */
#ifndef PBW_SBBF_H
#define PBW_SBBF_H

#include <stdint.h>

enum { BLOCK_BYTES = 32 };

#define SALT_WORDS                                                                  \
  {0x47B6137Bu, 0x44974D91u, 0x8824AD5Bu, 0xA2B7289Du, 0x705495C7u, 0x2DF1424Bu,    \
   0x9EFC4947u, 0x5C6BFB31u}

/* The number of the block that a hash belongs to. */
static inline uint64_t block_index(uint64_t h, uint64_t num_blocks) {
  return ((h >> 32) * num_blocks) >> 32;
}

/* Insert `count` hashes. */
void sbbf_insert(uint8_t *blocks, int64_t num_blocks, const uint8_t *hashes, int64_t count);

/* Return how many of `count` hashes might be contained; write 1 or 0 for each to `flags`, if that
 * is not NULL. */
int64_t sbbf_check(const uint8_t *blocks, int64_t num_blocks, const uint8_t *hashes, int64_t count,
                   uint8_t *flags);

/* Join every run of `factor` blocks into one: num_blocks / factor blocks at `folded`. */
void sbbf_fold(const uint8_t *blocks, int64_t num_blocks, int64_t factor, uint8_t *folded);

/* Join each of `num_others` blocks into num_blocks / num_others neighbouring blocks. */
void sbbf_unite(uint8_t *blocks, int64_t num_blocks, const uint8_t *others, int64_t num_others);

/* Return how many bits are set. */
int64_t sbbf_count_bits(const uint8_t *blocks, int64_t num_blocks);

/* Add up, over the blocks, the product of the number of bits set in each of the eight words: at most
 * 2**71, of which `*high` gets what exceeds 64 bits. */
uint64_t sbbf_sum_products(const uint8_t *blocks, int64_t num_blocks, uint64_t *high);

#endif
