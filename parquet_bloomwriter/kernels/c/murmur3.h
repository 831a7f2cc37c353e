/* MurmurHash3 as the drafts of the specification take it, of one value; of arrays: arrays.h. */
#ifndef PBW_MURMUR3_H
#define PBW_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

uint64_t murmur3(const uint8_t *data, size_t length, uint32_t seed);

#endif
