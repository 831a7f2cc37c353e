/* Runs the loops on fixed noise and prints what they find, without Python: test_cross.py compares
 * the output of this machine with that of another processor. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../parquet_bloomwriter/kernels/c/arrays.h"
#include "../../parquet_bloomwriter/kernels/c/sbbf.h"
#include "../../parquet_bloomwriter/kernels/c/vectors.h"
#include "../../parquet_bloomwriter/kernels/c/xxh64.h"

enum { COUNT = 5000, NUM_BLOCKS = (1 << 15) + 7 };

static uint8_t noise[64 * COUNT], hashes[8 * COUNT], flags[COUNT], valid[COUNT / 8 + 1];
static uint32_t offsets[COUNT + 1];

static void print(const char *what, int64_t number, const void *data, size_t size) {
  printf("%s %" PRId64 " %016" PRIx64 "\n", what, number, xxh64(data, size));
}

int main(void) {
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof noise; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    noise[i] = (uint8_t)(state >> 56);
  }
  memcpy(valid, noise, sizeof valid);
  for (int i = 0; i < COUNT; i++) offsets[i + 1] = offsets[i] + noise[i] % 64;
  chosen_variant = best_variant();

  Slots all = {COUNT, NULL, 0, hashes}, some = {COUNT - 3, valid, 3, hashes};
  for (int64_t width = 0; width <= 64; width++) {
    Fixed fixed = {noise, width};
    print("xxh64", xxh64_fixed(&fixed, &all), hashes, sizeof hashes);
    print("xxh64 some", xxh64_fixed(&fixed, &some), hashes, sizeof hashes);
  }
  Variable variable = {noise, sizeof noise, (const uint8_t *)offsets, 0};
  print("xxh64 strings", xxh64_variable(&variable, &all), hashes, sizeof hashes);

  uint8_t *blocks = calloc(NUM_BLOCKS, BLOCK_BYTES);
  if (blocks == NULL) return 1;
  sbbf_insert(blocks, NUM_BLOCKS, hashes, COUNT);
  print("insert", NUM_BLOCKS, blocks, (size_t)NUM_BLOCKS * BLOCK_BYTES);
  print("check", sbbf_check(blocks, NUM_BLOCKS, noise, COUNT, flags), flags, sizeof flags);
  print("check", sbbf_check(blocks, NUM_BLOCKS, hashes, COUNT, flags), flags, sizeof flags);
  sbbf_insert(blocks, 9, noise, COUNT / 100);
  print("check", sbbf_check(blocks, 9, noise + 8, COUNT, flags), flags, sizeof flags);
  uint64_t high, low = sbbf_sum_products(blocks, NUM_BLOCKS, &high);
  printf("bits %" PRId64 " %" PRIu64 " %" PRIu64 "\n", sbbf_count_bits(blocks, NUM_BLOCKS), high, low);
  free(blocks);
  return 0;
}
