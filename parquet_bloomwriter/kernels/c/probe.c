#define _FILE_OFFSET_BITS 64
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "probe.h"

#include "memory.h"
#include "sbbf.h"

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
#endif
