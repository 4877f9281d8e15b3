// The main process of a machine: started once in the life of a boot, and no stream's child. A host that goes away leaves it
// alone, and whoever asks for it again is told of its end.
#ifndef SKERRY_MAINPROCESS_H
#define SKERRY_MAINPROCESS_H

#include "child.h"

bool mainprocess_start(const struct request *request); // true where it has been started, also long ago
void mainprocess_signal(int signal);
bool mainprocess_reap(pid_t pid, int status);
const char *mainprocess_result(char json[OUTCOME_BYTES]); // NULL while there is none
bool mainprocess_uses_cgroup(uint32_t number);

#endif
