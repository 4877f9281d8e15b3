// The wire: frames cut out of a byte stream. The TypeScript side and the reasons are in
// contract/src/frames.ts.
#ifndef SKERRY_FRAMES_H
#define SKERRY_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_type {
  FRAME_PAD,
  FRAME_HELLO,
  FRAME_OPEN,
  FRAME_DATA,
  FRAME_STDERR,
  FRAME_HEAD,
  FRAME_WINDOW,
  FRAME_CLOSE,
  FRAME_RESET,
  FRAME_PING,
};

enum {
  HEADER_BYTES = 9,
  PAYLOAD_MAX_BYTES = 64 * 1024,
  MAX_FRAME_BYTES = HEADER_BYTES + PAYLOAD_MAX_BYTES,
  WINDOW_BYTES = 256 * 1024,
  HELLO_BYTES = 24,
  NONCE_BYTES = 16,
  PING_MAX_BYTES = 64,
  PROTOCOL_VERSION = 1,
};

struct frame {
  enum frame_type type;
  uint32_t stream;
  uint32_t length;
  uint8_t *payload; // lies in the reader's buffer, may be written to, is valid until the next read
};

// Bytes from the peer. Frames are parsed where they lie, so a payload is never copied.
struct frame_reader {
  uint32_t head, tail;
  uint32_t zeros; // length of the current run of zeros, while lost
  bool lost;      // the peer broke the protocol: nothing counts until a run of MAX_FRAME_BYTES zeros
  uint8_t bytes[2 * MAX_FRAME_BYTES];
};

// Where the next bytes go, and how many: no more than complete the frame that has begun, so that the one
// after it starts at the front of the buffer again.
uint8_t *frame_room(struct frame_reader *reader, size_t *room);
bool frame_take(struct frame_reader *reader, struct frame *frame);
void frame_header(uint8_t *to, enum frame_type type, uint32_t stream, uint32_t length);
uint32_t read_u32(const uint8_t *from);
void write_u32(uint8_t *to, uint32_t value);

#endif
