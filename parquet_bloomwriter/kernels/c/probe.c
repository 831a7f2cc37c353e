/* Reads blocks and headers of Bloom filters with pread, and looks hashes up in them: filters with the
 * usual header (`probe_usual`), and groups of filters with checksums in the files of an index
 * (`probe_groups`, `index/format/block_checks.py`). A bit is trusted only after its checksum. */
#define _FILE_OFFSET_BITS 64
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "probe.h"

#include "memory.h"
#include "sbbf.h"
#include "xxh64.h"

const uint8_t USUAL_END[USUAL_END_BYTES] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0,
                                            0x1c, 0x1c, 0, 0, 0};

#if PBW_HAS_PREAD
#include <errno.h>
#include <limits.h>
#include <sys/types.h>
#include <unistd.h>

enum { DESCRIPTOR, OFFSET, LENGTH, LIMIT, HASH, START, SIZE, ANSWER }; /* words of a task */

static const uint32_t SALT[8] = SALT_WORDS;

static int read_piece(int64_t descriptor, int64_t start, int64_t size, uint8_t *target) {
  ssize_t done;
  if (descriptor < 0 || descriptor > INT_MAX || start < 0) return 0;
  do done = pread((int)descriptor, target, (size_t)size, (off_t)start);
  while (done < 0 && errno == EINTR);
  return done == size;
}

int64_t probe_read_pieces(const int64_t *descriptors, const int64_t *starts, int64_t count,
                          int64_t size, uint8_t *target) {
  for (int64_t i = 0; i < count; i++, target += size)
    if (!read_piece(descriptors[i], starts[i], size, target)) return i;
  return count;
}

/* The bytes of the usual header of a filter of `length` bytes with it; 0 if it cannot have one. */
static int64_t usual_header_bytes(int64_t length) {
  int64_t header = (length - SHORTEST_USUAL_BYTES) % PIECE_BYTES + SHORTEST_USUAL_BYTES;
  int64_t zigzag = 2 * (length - header), width = 1;
  while (zigzag >> 7 * width) width++;
  return zigzag > 0 && header == width + USUAL_FIXED_BYTES ? header : 0;
}

static int is_usual_header(const uint8_t *piece, int64_t header, int64_t size) {
  int64_t zigzag = 2 * size, width = header - USUAL_FIXED_BYTES;
  if (piece[0] != USUAL_START) return 0;
  for (int64_t k = 0; k < width; k++)
    if (piece[1 + k] != ((zigzag >> 7 * k & 127) | (k < width - 1 ? 128 : 0))) return 0;
  return memcmp(piece + 1 + width, USUAL_END, USUAL_END_BYTES) == 0;
}

static int answer_of(const uint8_t *block, uint64_t h) {
  uint32_t missing = 0, seen = 0;
  for (int k = 0; k < 8; k++) {
    uint32_t word = load32(block + 4 * k);
    missing |= ~word & 1u << (((uint32_t)h * SALT[k]) >> 27);
    seen |= word;
  }
  if (missing == 0) return MIGHT_BE_IN;
  return seen ? NOT_IN : EMPTY;
}

int64_t probe_usual(int64_t *tasks, int64_t count) {
  const int64_t most = INT64_C(1) << 36; /* bytes of a bitset; blocks are fewer than 2**31 */
  uint8_t piece[PIECE_BYTES];
  int64_t num_odd = 0;
  for (int64_t i = 0; i < count; i++, tasks += TASK_WORDS) {
    const int64_t offset = tasks[OFFSET], length = tasks[LENGTH], limit = tasks[LIMIT];
    const uint64_t h = (uint64_t)tasks[HASH];
    int answer = ODD;
    if (tasks[SIZE] == 0 && length > SHORTEST_USUAL_BYTES && length < most && offset > 0 &&
        length <= limit && offset <= limit - length) {
      const int64_t header = usual_header_bytes(length);
      if (header != 0 && read_piece(tasks[DESCRIPTOR], offset, PIECE_BYTES, piece)) {
        answer += WITH_HEADER;
        if (is_usual_header(piece, header, length - header)) {
          tasks[START] = offset + header;
          tasks[SIZE] = length - header;
        }
      }
    }
    const int64_t start = tasks[START], size = tasks[SIZE];
    if (size > 0 && size < most && start >= 0 && start <= INT64_MAX - most) {
      const uint64_t block = block_index(h, (uint64_t)size / PIECE_BYTES);
      if (read_piece(tasks[DESCRIPTOR], start + PIECE_BYTES * (int64_t)block, PIECE_BYTES, piece))
        answer += answer_of(piece, h) - ODD;
    }
    num_odd += (answer & 3) == ODD;
    tasks[ANSWER] = answer;
  }
  return num_odd;
}

/* Words of a group; see `kernels/layout.py`. */
enum { FILE_OF, FIRST, MEMBERS, BLOCKS, CHECKS, STRIDE, ORDINAL, SEED, SOUGHT, TARGET, STATE };

static const uint64_t P = UINT64_C(0x9E3779B97F4A7C15);
static const int64_t MOST_BLOCKS = INT64_C(1) << 31, MOST_GROUPS = INT64_C(1) << 24,
                     LAST_START = INT64_C(1) << 62;

static int is_sound(const int64_t *group, int64_t num_starts, int64_t num_answers) {
  const int64_t members = group[MEMBERS], blocks = group[BLOCKS];
  return members > 0 && members <= MAX_MEMBERS && group[FIRST] >= 0 &&
         group[FIRST] <= num_starts - members && group[TARGET] >= 0 &&
         group[TARGET] <= num_answers - members && blocks > 0 && blocks < MOST_BLOCKS &&
         group[CHECKS] >= 0 && group[CHECKS] < LAST_START && group[STRIDE] > 0 && group[STRIDE] < MOST_GROUPS;
}

static int64_t block_of(const int64_t *group) {
  return (int64_t)block_index((uint64_t)group[SOUGHT], (uint64_t)group[BLOCKS]);
}

static int64_t check_start(const int64_t *group) {
  return group[CHECKS] + CHECK_BYTES * group[STRIDE] * block_of(group);
}

/* Sum of the hashes of a block, and the answer of each member; 0 if a member cannot be read. */
static int sum_block(const int64_t *group, const int64_t *starts, uint8_t *answers, uint64_t *sum) {
  const int64_t offset = PIECE_BYTES * block_of(group);
  uint8_t piece[PIECE_BYTES];
  *sum = 0;
  for (int64_t k = 0; k < group[MEMBERS]; k++) {
    const int64_t start = starts[group[FIRST] + k];
    if (start < 0 || start >= LAST_START ||
        !read_piece(group[FILE_OF], start + offset, PIECE_BYTES, piece))
      return 0;
    *sum += xxh64(piece, PIECE_BYTES) * ((uint64_t)(2 * k + 1) * P);
    answers[group[TARGET] + k] = answer_of(piece, (uint64_t)group[SOUGHT]) == MIGHT_BE_IN;
  }
  return 1;
}

static uint32_t check_value(const int64_t *group, uint64_t sum) {
  const uint64_t ordinal = (uint64_t)group[ORDINAL] + (uint64_t)(group[STRIDE] * block_of(group));
  return (uint32_t)(((sum ^ (uint64_t)group[SEED] ^ (ordinal + 1) * P) * P) >> 32);
}

int64_t probe_groups(int64_t *groups, int64_t count, const int64_t *starts, int64_t num_starts,
                     uint8_t *answers, int64_t num_answers) {
  enum { AHEAD = 512 }; /* checksums that are read together, if they lie together */
  uint8_t checks[AHEAD * CHECK_BYTES];
  int64_t num_bad = 0, known_from = 0, num_known = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t *group = groups + i * GROUP_WORDS, state = NOT_READ;
    uint64_t sum;
    if (is_sound(group, num_starts, num_answers) && sum_block(group, starts, answers, &sum)) {
      if (i >= known_from + num_known) {
        const int64_t begin = check_start(group);
        int64_t more = 1;
        for (; more < AHEAD && i + more < count; more++) {
          const int64_t *next = group + more * GROUP_WORDS;
          if (next[FILE_OF] != group[FILE_OF] || !is_sound(next, num_starts, num_answers) ||
              check_start(next) != begin + CHECK_BYTES * more)
            break;
        }
        known_from = i;
        num_known = read_piece(group[FILE_OF], begin, CHECK_BYTES * more, checks) ? more : 0;
      }
      if (i < known_from + num_known)
        state = load32(checks + CHECK_BYTES * (i - known_from)) == check_value(group, sum)
                    ? AS_WRITTEN
                    : NOT_AS_WRITTEN;
    }
    num_bad += state != AS_WRITTEN;
    group[STATE] = state;
  }
  return num_bad;
}
#endif
