/* XXH64 with seed 0, of one value; of arrays: arrays.h. */
#ifndef PBW_XXH64_H
#define PBW_XXH64_H

#include <stddef.h>
#include <stdint.h>

uint64_t xxh64(const uint8_t *data, size_t length);

#endif
