// The parsers alone, for tests: cases come on stdin, what the parsers make of them goes to stdout.
//
//   case = u8 kind ('f' frames, 'j' request, 'h' /etc/hosts) · u32 piece · u32 length · bytes
//
// Frames are fed in pieces of `piece` bytes; each frame found is one line "type stream payload-in-hex", and
// is encoded again to see that nothing was lost. Each case ends with a line "end", or "lost" if the bytes
// broke the protocol.
#include "frames.h"
#include "hosts.h"
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_hex(const uint8_t *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) printf("%02x", bytes[i]);
}

static void print_frame(const struct frame *frame) {
  uint8_t header[HEADER_BYTES];
  frame_header(header, frame->type, frame->stream, frame->length);
  if (memcmp(header, frame->payload - HEADER_BYTES, HEADER_BYTES) != 0) abort();
  printf("%d %u ", (int)frame->type, frame->stream);
  print_hex(frame->payload, frame->length);
  printf("\n");
}

static void parse_frames(const uint8_t *bytes, size_t length, size_t piece) {
  struct frame_reader *reader =
      calloc(1, sizeof *reader); // of its own, so that AddressSanitizer sees its end
  if (!reader) abort();
  for (size_t at = 0; at < length;) {
    size_t room;
    uint8_t *to = frame_room(reader, &room);
    size_t taken = length - at < piece ? length - at : piece;
    if (taken > room) taken = room;
    memcpy(to, bytes + at, taken);
    reader->tail += (uint32_t)taken;
    at += taken;
    struct frame frame;
    while (frame_take(reader, &frame)) print_frame(&frame);
  }
  printf(reader->lost ? "lost\n" : "end\n");
  free(reader);
}

static void print_string(const char *name, const char *text) {
  if (!text) return;
  printf("%s ", name);
  print_hex((const uint8_t *)text, strlen(text));
  printf("\n");
}

static void parse_request(char *text, size_t length) {
  struct request request;
  const char *problem;
  if (!request_parse(&request, text, length, &problem)) {
    printf("refused %s\nend\n", problem);
    return;
  }
  print_string("op", request.op);
  print_string("command", request.command);
  print_string("workdir", request.workdir);
  print_string("path", request.path);
  for (char **entry = request.env; *entry; entry++) print_string("env", *entry);
  printf("timeout_ms %lld\nend\n", (long long)request.timeout_ms);
}

// Two former names, the new one and the text, each but the last ended by a NUL; `piece` is 1 for a complete
// file.
static void rename_in_hosts(char *bytes, size_t length, bool complete) {
  const char *former = bytes, *other = former + strlen(former) + 1, *name = other + strlen(other) + 1;
  char *text = (char *)name + strlen(name) + 1;
  struct text hosts = {text, length - (size_t)(text - bytes)};
  struct text renamed = hosts_renamed(hosts, (const char *const[]){former, other}, name, complete);
  if (renamed.bytes) print_hex((const uint8_t *)renamed.bytes, renamed.length);
  printf(renamed.bytes ? "\nend\n" : "same\nend\n");
  free(renamed.bytes);
}

static bool take(void *to, size_t length) {
  return fread(to, 1, length, stdin) == length;
}

int main(void) {
  uint8_t head[9];
  while (take(head, sizeof head)) {
    uint32_t piece = read_u32(head + 1), length = read_u32(head + 5);
    uint8_t *bytes = malloc(length > 0 ? length : 1);
    if (!bytes || !take(bytes, length)) return 1;
    if (head[0] == 'f')
      parse_frames(bytes, length, piece > 0 ? piece : 1);
    else if (head[0] == 'h')
      rename_in_hosts((char *)bytes, length, piece == 1);
    else
      parse_request((char *)bytes, length);
    free(bytes);
  }
  return 0;
}
