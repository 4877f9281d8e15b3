// An operation is one forked child with up to three pipes, so a system call that hangs (a dead file system, a
// FIFO) blocks that child alone. Results other than its pipes it writes into its slot of the memory that it
// shares with the agent; a command loses that memory with its execve.
#ifndef SKERRY_CHILD_H
#define SKERRY_CHILD_H

#include "cgroup.h"
#include "operations.h"

#include <stdatomic.h>
#include <stdnoreturn.h>
#include <sys/types.h>

enum { SLOTS = 256, OUTCOME_BYTES = 256 };

struct outcome {
  volatile bool committed; // set by the agent before the end of an upload: an end without it is a cancel
  atomic_bool has_head;    // set by the child once its head is whole: the agent looks while the child writes
  char head[OUTCOME_BYTES];
  char result[OUTCOME_BYTES];
  char error[OUTCOME_BYTES];
};

struct child {
  pid_t pid;    // 0 where it was done without one
  // The agent's ends, -1 where there is none: stdin, stdout, stderr, and of a START one that ends when the command is executed. A terminal
  // is where stdout would be.
  int pipes[4];
  struct cgroup group;
};

extern int dev_null;

struct outcome *outcomes_make(unsigned count);
// To the columns and rows that are asked for.
void terminal_resize(int terminal, const struct request *request);
bool child_start(struct child *child, const struct request *request, struct outcome *outcome);

// In the child: the operations. They end with exec, or with a result or an error in the slot.
noreturn void execute_child(const struct request *request, struct outcome *outcome);
noreturn void write_child(const struct request *request, struct outcome *outcome);
noreturn void read_child(const struct request *request, struct outcome *outcome);
noreturn void list_child(const struct request *request, struct outcome *outcome);
noreturn void stat_child(const struct request *request, struct outcome *outcome);
noreturn void mkdir_child(const struct request *request, struct outcome *outcome);
noreturn void move_child(const struct request *request, struct outcome *outcome);
noreturn void remove_child(const struct request *request, struct outcome *outcome);
noreturn void chmod_child(const struct request *request, struct outcome *outcome);
noreturn void pack_child(const struct request *request, struct outcome *outcome);
noreturn void unpack_child(const struct request *request, struct outcome *outcome);
noreturn void watch_child(const struct request *request, struct outcome *outcome);
noreturn void ports_child(const struct request *request, struct outcome *outcome);
noreturn void idle_child(const struct request *request, struct outcome *outcome);
noreturn void shutdown_child(const struct request *request, struct outcome *outcome);

noreturn void child_fail(struct outcome *outcome, const char *code, const char *message);
noreturn void child_fail_errno(struct outcome *outcome, const char *doing);
void outcome_fail_errno(struct outcome *outcome, const char *doing); // the same for who goes on
noreturn void child_succeed(struct outcome *outcome, const char *result);

// In the agent, without a child: it cannot hang and everything waits for it, so a fork would only cost time.
void apply_clock_and_entropy(const struct request *request, struct outcome *outcome); // clock, entropy and, once, its name
void adjust_clock(const struct request *request, struct outcome *outcome);

// In the agent: what a child cannot do for it.
bool environment_keep(const struct request *configure); // for every later command
void shutdown_begin(void);                              // kills every process but the agent

#endif
