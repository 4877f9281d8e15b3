// What a host asks for: the JSON of an OPEN frame as a request. contract/src/guest-api/guest-operations.ts has the shapes.
#ifndef SKERRY_OPERATIONS_H
#define SKERRY_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// From CONFIGURE on they are the host's own, and run in no cgroup of the user's.
enum operation { EXECUTE, MAIN, WRITE, READ, LIST, STAT, MKDIR, MOVE, REMOVE, CHMOD, PACK, UNPACK, WATCH, CONNECT, PORTS, LONG,
                 START, FOLLOW, INPUT, SIGNAL, RESIZE, EXECUTION, FORGET, EXECUTIONS, // executions.h
                 CONFIGURE, WAKE, CLOCK, IDLE, TERMINATE, SHUTDOWN };

// A user's 256, and those of a template.
enum { ENV_MAX_ENTRIES = 288, ATTRIBUTES_MAX = 256, PROGRAM_MAX = 512, RUN_FILES_MAX = 8, EXECUTION_ID_BYTES = 64 };

enum { RUN_FILE_NAME_MAX_BYTES = 100, RUN_FILE_MAX_BYTES = 1024 };

// Longest JSON of a request; contract/src/frames.ts has the same. What one frame does not hold comes in
// parts, announced by a LONG.
enum { REQUEST_MAX_BYTES = 256 * 1024 };

enum { USER_BYTES = 66 }; // NAME:GROUP, of 32 bytes each

struct request {
  enum operation operation;
  char *op, *command, *workdir, *path, *to, *hostname, *machine_id, *entropy;
  char *user; // shorter than USER_BYTES
  int64_t timeout_ms, output_limit, mode, limit, depth, clock_us, adjust_us, signal, port, bytes;
  bool wants_stdin, follow, recursive;
  char *execution; // shorter than EXECUTION_ID_BYTES
  int64_t reattach_ms, after, cols, rows;
  bool tty, hold, end;
  char *env[ENV_MAX_ENTRIES + 1];         // "KEY=value", ends with NULL
  char *attributes[ATTRIBUTES_MAX + 1];   // the same
  char *program[PROGRAM_MAX + 1];         // its name and its arguments, ends with NULL; empty for a shell's command
  char *run_files[RUN_FILES_MAX + 1];     // "NAME=text", ends with NULL
};

// Decodes in place: the request's strings lie in `text`. On failure `problem` says what is wrong.
bool request_parse(struct request *request, char *text, size_t length, const char **problem);

#endif
