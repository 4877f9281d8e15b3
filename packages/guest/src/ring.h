// The last output of a command. A byte is found by its position: how many bytes of stdout and stderr together came before it. So a
// reader that names a position goes on from there, whichever pieces the output was read in.
#ifndef SKERRY_RING_H
#define SKERRY_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_MIN_BYTES = 4 * 1024, RING_MAX_BYTES = 1024 * 1024 };

struct ring {
  uint8_t *bytes;
  uint64_t *marks;   // one bit per byte: set where it is stderr
  uint32_t capacity; // 0, or a power of two
  uint64_t from, to; // positions that are held: `from` up to and without `to`
};

// All memory of a ring of this capacity.
size_t ring_memory(uint32_t capacity);
// Gives it another capacity; what does not fit any more is dropped from its beginning. False: no memory, and nothing has changed.
bool ring_resize(struct ring *ring, uint32_t capacity);
void ring_free(struct ring *ring);

// Where the next bytes go, and how many in one piece; what they lie on is dropped when they are committed.
uint8_t *ring_reserve(struct ring *ring, size_t *room);
void ring_commit(struct ring *ring, size_t length, bool is_error);

// The bytes from a held position on that are all of one stream, and lie in one piece. At least one, at most `most`.
const uint8_t *ring_run(const struct ring *ring, uint64_t at, size_t most, size_t *length, bool *is_error);

#endif
