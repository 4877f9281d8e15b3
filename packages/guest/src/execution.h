// One execution, as executions.c keeps it and follow.c tells of it.
#ifndef SKERRY_EXECUTION_H
#define SKERRY_EXECUTION_H

#include "ring.h"
#include "streams.h"

enum {
  COMMAND_SHOWN_BYTES = 1024,
  // For a reader that is on its way: it has started the command, or the host that it came through has gone.
  EXPECTED_READER_MS = 30 * 1000,
};

struct execution {
  char id[EXECUTION_ID_BYTES];
  char command[COMMAND_SHOWN_BYTES + 8]; // cut where it is longer
  uint64_t sequence;                     // in the order in which they were started
  pid_t pid;                             // 0 once it has been reaped
  int status;
  // `exited`: the command. `ended`: and all that it had written is in the ring.
  bool is_terminal, exited, ended, timed_out, is_killed;
  struct cgroup group;
  struct cgroup_usage usage;
  int64_t timeout_ms, reattach_ms; // 0: none; -1: it lives without a reader
  int64_t started_us, ended_us, deadline_ms;
  int64_t alone_until_ms; // when it ends unless a reader comes, or 0
  uint64_t left_at;       // how far the last reader had come that has left
  unsigned streams, readers; // of this conversation that are about it, and those of them that follow it
  struct outcome *outcome;   // NULL once it has been reaped
  char error[OUTCOME_BYTES]; // why it could not be started
  int exec_fd, exec_poll;    // ends when the command has taken the place of the child, or the child has failed
  int input_fd;
  struct output outputs[2]; // stdout and stderr; of a terminal only the first
  struct ring ring;
};

struct execution *execution_start(const struct request *request, const char **problem);
struct execution *execution_find(const char *id);
struct execution *execution_after(uint64_t sequence); // the one that was started next
bool execution_is_forgettable(const struct execution *execution); // it has ended, and nothing is about it
void execution_forget(struct execution *execution);
// Has it end unless a reader comes in time. `is_expected`: one is on its way.
void execution_await_reader(struct execution *execution, bool is_expected);
void execution_signal(struct execution *execution, int number);
void execution_end_input(struct execution *execution);

#endif
