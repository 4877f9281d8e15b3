// The port to the host: bytes in, frames out, and the hello that begins a conversation.
#ifndef SKERRY_CHANNEL_H
#define SKERRY_CHANNEL_H

#include "frames.h"

#include <poll.h>

enum {
  OUT_BYTES = 320 * 1024,
  // Room that data leaves for control frames. Frames of the host are taken only while this much is free, so
  // the answer to each of them fits.
  CONTROL_BYTES = 64 * 1024,
};

enum channel_input { INPUT_NOTHING, INPUT_SOME, INPUT_DISCONNECTED };

void channel_open(int fd);
struct pollfd channel_poll(void);
enum channel_input channel_fill(void);
bool channel_take(struct frame *frame);

// Adds a frame if it fits, else answers false.
bool channel_send(enum frame_type type, uint32_t stream, const void *payload, size_t length);
bool channel_send_json(enum frame_type type, uint32_t stream, const char *json);

// Output of commands goes from their pipe into the queue without a copy between: reserve, read(2) to there,
// commit.
uint8_t *channel_reserve(size_t *room);
void channel_commit(enum frame_type type, uint32_t stream, size_t length);
bool channel_has_data_room(void);

void channel_flush(void);
bool channel_is_flushed(void);

// True if this frame is a hello: everything of the old conversation is forgotten and the answer is queued.
bool channel_greet(const struct frame *frame);

#endif
