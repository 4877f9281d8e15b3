#include "frames.h"

#include <string.h>

static void skip_until_zeros(struct frame_reader *reader);

uint8_t *frame_room(struct frame_reader *reader, size_t *room) {
  if (reader->head == reader->tail) reader->head = reader->tail = 0;
  if (reader->head > 0 && reader->tail > MAX_FRAME_BYTES) {
    memmove(reader->bytes, reader->bytes + reader->head, reader->tail - reader->head);
    reader->tail -= reader->head;
    reader->head = 0;
  }
  *room = sizeof reader->bytes - reader->tail;
  size_t held = reader->tail - reader->head;
  if (!reader->lost && held >= HEADER_BYTES) {
    size_t missing = HEADER_BYTES + read_u32(reader->bytes + reader->head + 1) - held;
    if (missing < *room) *room = missing;
  }
  return reader->bytes + reader->tail;
}

// Call until it answers false; only then may the buffer take more bytes.
bool frame_take(struct frame_reader *reader, struct frame *frame) {
  if (reader->lost) skip_until_zeros(reader);
  if (reader->lost) return false;
  while (reader->head < reader->tail && reader->bytes[reader->head] == FRAME_PAD) reader->head++;
  uint32_t held = reader->tail - reader->head;
  if (held == 0) return false;
  uint8_t *header = reader->bytes + reader->head;
  bool broken = header[0] > FRAME_PING;
  if (!broken && held >= HEADER_BYTES) broken = read_u32(header + 1) > PAYLOAD_MAX_BYTES;
  if (broken) {
    // The scan begins at this header, because the run of zeros may have begun inside it.
    reader->lost = true;
    reader->zeros = 0;
    return frame_take(reader, frame);
  }
  if (held < HEADER_BYTES) return false;
  frame->type = header[0];
  frame->length = read_u32(header + 1);
  frame->stream = read_u32(header + 5);
  frame->payload = header + HEADER_BYTES;
  if (held - HEADER_BYTES < frame->length) return false;
  reader->head += HEADER_BYTES + frame->length;
  return true;
}

// No sequence of valid frames holds so long a run: the longest is a payload of zeros with the zeros of its
// own header.
static void skip_until_zeros(struct frame_reader *reader) {
  while (reader->head < reader->tail && reader->zeros < MAX_FRAME_BYTES) {
    reader->zeros = reader->bytes[reader->head++] == 0 ? reader->zeros + 1 : 0;
  }
  if (reader->zeros == MAX_FRAME_BYTES) reader->lost = false;
}

void frame_header(uint8_t *to, enum frame_type type, uint32_t stream, uint32_t length) {
  to[0] = (uint8_t)type;
  write_u32(to + 1, length);
  write_u32(to + 5, stream);
}

uint32_t read_u32(const uint8_t *from) {
  return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

void write_u32(uint8_t *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}
