// Commands that outlive the stream that started them, and the conversation: each has an id, its last output in a ring, and any number of
// readers, which name the position that they go on from.
#ifndef SKERRY_EXECUTIONS_H
#define SKERRY_EXECUTIONS_H

#include "streams.h"

enum { EXECUTIONS_RUNNING_MAX = 64, EXECUTION_POLLS_MAX = 3 * EXECUTIONS_RUNNING_MAX };

void executions_start(void);

// Answers a request about executions, or takes the free slot `stream` for as long as that lasts.
void executions_open(struct stream *stream, uint32_t id, const struct request *request);
// Does what can be done for the stream now. True when it has been answered.
bool executions_serve(struct stream *stream);
// The stream is over. Where the host has canceled it, its client has gone; otherwise the host may come back.
void executions_leave(struct stream *stream, bool is_canceled);

// What the event loop asks.
unsigned executions_poll(struct pollfd *polls);
void executions_move(const struct pollfd *polls);
bool executions_reap(pid_t pid, int status, const struct rusage *use);
int64_t executions_wait_ms(void); // until something has to be done, or -1
void executions_time_out(void);
bool executions_use_cgroup(uint32_t number);

#endif
