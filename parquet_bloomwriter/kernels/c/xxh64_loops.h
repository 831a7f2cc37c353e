/* XXH64 of values of 8 and of 4 bytes, in one variant: see vectors.h. */

#if WITH_VECTORS
#ifndef PBW_WIDE
#define PBW_WIDE
enum { LANES = 8 };
typedef uint64_t Wide __attribute__((vector_size(8 * LANES)));
#define ROTL(word, bits) (((word) << (bits)) | ((word) >> (64 - (bits))))
#endif

static PBW_INLINE TARGET void VARIANT(avalanche)(Wide *word) {
  Wide h = *word;
  h = (h ^ (h >> 33)) * PRIME_2;
  h = (h ^ (h >> 29)) * PRIME_3;
  *word = h ^ (h >> 32);
}
#endif

static TARGET void VARIANT(words)(const uint8_t *values, int64_t count, uint8_t *hashes) {
  int64_t i = 0;
#if WITH_VECTORS
  for (; i + LANES <= count; i += LANES) {
    Wide word;
    memcpy(&word, values + 8 * i, sizeof word);
    Wide mixed = ROTL(word * PRIME_2, 31) * PRIME_1;
    Wide h = ROTL((PRIME_5 + 8) ^ mixed, 27) * PRIME_1 + PRIME_4;
    VARIANT(avalanche)(&h);
    memcpy(hashes + 8 * i, &h, sizeof h);
  }
#endif
  for (; i < count; i++)
    store64(hashes + 8 * i, avalanche(word_step(PRIME_5 + 8, load64(values + 8 * i))));
}

static TARGET void VARIANT(half_words)(const uint8_t *values, int64_t count, uint8_t *hashes) {
  int64_t i = 0;
#if WITH_VECTORS
  for (; i + LANES <= count; i += LANES) {
#ifdef WITH_AVX512 /* GCC 12 converts the vector in two halves */
    Wide word = (Wide)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(values + 4 * i)));
#else
    typedef uint32_t Half __attribute__((vector_size(4 * LANES)));
    Half half;
    memcpy(&half, values + 4 * i, sizeof half);
    Wide word = __builtin_convertvector(half, Wide);
#endif
    Wide h = ROTL((PRIME_5 + 4) ^ (word * PRIME_1), 23) * PRIME_2 + PRIME_3;
    VARIANT(avalanche)(&h);
    memcpy(hashes + 8 * i, &h, sizeof h);
  }
#endif
  for (; i < count; i++)
    store64(hashes + 8 * i, avalanche(half_word_step(PRIME_5 + 4, load32(values + 4 * i))));
}
