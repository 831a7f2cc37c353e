/* Vector variants of a loop: which there are, and which one this processor takes.
 *
 * A file of loops, such as `sbbf_loops.h`, is included once for each variant, with three macros:
 *
 *     VARIANT(name)   the name of a function in this variant
 *     TARGET          what it may be compiled to
 *     WITH_VECTORS    whether it is written with vectors
 *
 * The vectors are those of GCC and Clang, which the compiler lowers to what the target has. The
 * baseline has NEON on AArch64; on x86-64 it has SSE2, in which plain loops are quicker. Functions take vectors by address, as calling conventions
 * differ between targets; all are inlined. Other compilers get plain loops, the baseline.
 */
#ifndef PBW_VECTORS_H
#define PBW_VECTORS_H

#if defined(__GNUC__) || defined(__clang__)
#define PBW_HAS_VECTORS 1
#define PBW_INLINE inline __attribute__((always_inline))
#define PBW_PREFETCH(address) __builtin_prefetch((address), 1, 3)
#if defined(__clang__)
#define PBW_UNROLL _Pragma("clang loop unroll_count(4)")
#else
#define PBW_UNROLL _Pragma("GCC unroll 4")
#endif
#else
#define PBW_HAS_VECTORS 0
#define PBW_INLINE inline
#define PBW_PREFETCH(address) ((void)(address))
#define PBW_UNROLL
#endif

#if PBW_HAS_VECTORS && defined(__x86_64__)
#define PBW_HAS_X86 1
#define PBW_AVX2 __attribute__((target("avx2,popcnt")))
#define PBW_AVX512 __attribute__((target("avx2,popcnt,avx512f,avx512vl,avx512dq")))
#else
#define PBW_HAS_X86 0
#endif

#if PBW_HAS_VECTORS && !PBW_HAS_X86
#define PBW_BASELINE_VECTORS 1
#else
#define PBW_BASELINE_VECTORS 0
#endif

enum { BASELINE = 0, AVX2 = 1, AVX512 = 2, NUM_VARIANTS = 3 };

/* The variant that loops take now. Written at import, and by tests. */
extern int chosen_variant;

/* The best variant that this processor has. */
int best_variant(void);

#endif
