/* Loops that read many small pieces of files, and look hashes up in filters where they lie.
 *
 * A call from Python costs more than the reading of a block that is in the page cache. On Windows,
 * which has no `pread`, these loops are absent. `kernels/layout.py` says what a task is.
 */
#ifndef PBW_PROBE_H
#define PBW_PROBE_H

#include <stdint.h>

#ifndef _WIN32
#define PBW_HAS_PREAD 1
#else
#define PBW_HAS_PREAD 0
#endif

enum { TASK_WORDS = 8, PIECE_BYTES = 32 };

/* Groups of filters with checksums. */
enum { GROUP_WORDS = 11, MAX_MEMBERS = 31, CHECK_BYTES = 4 };
enum { AS_WRITTEN = 0, NOT_AS_WRITTEN = 1, NOT_READ = 2 };

/* Answers. */
enum { NOT_IN = 0, MIGHT_BE_IN = 1, EMPTY = 2, ODD = 3, WITH_HEADER = 4 };

/* The usual header of a filter: see `sbbf/header.py`. */
enum {
  USUAL_START = 0x15,
  USUAL_END_BYTES = 13,
  USUAL_FIXED_BYTES = 1 + USUAL_END_BYTES,
  SHORTEST_USUAL_BYTES = USUAL_FIXED_BYTES + 1,
};
extern const uint8_t USUAL_END[USUAL_END_BYTES];

#if PBW_HAS_PREAD
/* Read `count` pieces of `size` bytes, one behind the other, to `target`. Return how many were read
 * completely, before the first that was not. */
int64_t probe_read_pieces(const int64_t *descriptors, const int64_t *starts, int64_t count,
                          int64_t size, uint8_t *target);

/* Look one hash up in each of `count` filters with the usual header; return how many are ODD. */
int64_t probe_usual(int64_t *tasks, int64_t count);

/* Look one hash up in all members of each of `count` groups, and compare what is read with its
 * checksum; return for how many groups that was not possible. */
int64_t probe_groups(int64_t *groups, int64_t count, const int64_t *starts, int64_t num_starts,
                     uint8_t *answers, int64_t num_answers);
#endif

#endif
