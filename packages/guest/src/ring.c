#include "ring.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_BITS = 64 };

size_t ring_memory(uint32_t capacity) {
  return capacity + capacity / 8;
}

void ring_free(struct ring *ring) {
  free(ring->bytes);
  free(ring->marks);
  *ring = (struct ring){.from = ring->from, .to = ring->to};
}

bool ring_resize(struct ring *ring, uint32_t capacity) {
  struct ring next = {.bytes = malloc(capacity), .marks = calloc(capacity / MARK_BITS, sizeof(uint64_t)), .capacity = capacity};
  if (!next.bytes || !next.marks) {
    ring_free(&next);
    return false;
  }
  uint64_t held = ring->to - ring->from;
  uint64_t at = held > capacity ? ring->to - capacity : ring->from;
  next.from = next.to = at;
  while (at < ring->to) {
    size_t length, room;
    bool is_error;
    const uint8_t *bytes = ring_run(ring, at, ring->capacity, &length, &is_error);
    uint8_t *to = ring_reserve(&next, &room);
    if (length > room) length = room;
    memcpy(to, bytes, length);
    ring_commit(&next, length, is_error);
    at += length;
  }
  ring_free(ring);
  *ring = next;
  return true;
}

uint8_t *ring_reserve(struct ring *ring, size_t *room) {
  uint32_t at = (uint32_t)(ring->to & (ring->capacity - 1));
  *room = ring->capacity - at;
  return ring->bytes + at;
}

// Sets the bits of `length` bytes that lie in one piece.
static void mark(struct ring *ring, size_t length, bool is_error) {
  uint32_t at = (uint32_t)(ring->to & (ring->capacity - 1));
  while (length > 0) {
    uint32_t bit = at % MARK_BITS;
    size_t here = MARK_BITS - bit < length ? MARK_BITS - bit : length;
    uint64_t bits = (here == MARK_BITS ? ~0ULL : (1ULL << here) - 1) << bit;
    uint64_t *word = &ring->marks[at / MARK_BITS];
    *word = is_error ? *word | bits : *word & ~bits;
    at += (uint32_t)here;
    length -= here;
  }
}

void ring_commit(struct ring *ring, size_t length, bool is_error) {
  mark(ring, length, is_error);
  ring->to += length;
  if (ring->to - ring->from > ring->capacity) ring->from = ring->to - ring->capacity;
}

const uint8_t *ring_run(const struct ring *ring, uint64_t at, size_t most, size_t *length, bool *is_error) {
  uint32_t first = (uint32_t)(at & (ring->capacity - 1)), end = ring->capacity;
  if (ring->to - at < end - first) end = first + (uint32_t)(ring->to - at);
  if (most < end - first) end = first + (uint32_t)most;
  *is_error = ring->marks[first / MARK_BITS] >> (first % MARK_BITS) & 1;
  uint32_t next = first;
  while (next < end) {
    uint32_t bit = next % MARK_BITS;
    uint64_t others = (*is_error ? ~ring->marks[next / MARK_BITS] : ring->marks[next / MARK_BITS]) >> bit;
    if (others != 0) {
      next += (uint32_t)__builtin_ctzll(others);
      break;
    }
    next += MARK_BITS - bit;
  }
  *length = (next < end ? next : end) - first;
  return ring->bytes + first;
}
