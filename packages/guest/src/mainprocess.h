// The main process of a machine: started once per boot, and not the child of a stream. It survives a restart
// of the host, and each later `main` request is told of its end.
#ifndef SKERRY_MAINPROCESS_H
#define SKERRY_MAINPROCESS_H

#include "child.h"

bool mainprocess_start(const struct request *request); // true where it has been started, also long ago
void mainprocess_signal(int signal);
bool mainprocess_reap(pid_t pid, int status);
const char *mainprocess_result(char json[OUTCOME_BYTES]); // NULL while there is none
bool mainprocess_uses_cgroup(uint32_t number);

#endif
