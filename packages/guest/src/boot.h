// From the kernel's hand-over to a machine that commands can run in.
#ifndef SKERRY_BOOT_H
#define SKERRY_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdnoreturn.h>

// True when the agent is PID 1 and has booted this machine. Otherwise (tests) it leaves the machine as it is.
extern bool machine_is_ours;

int boot(void); // the agent's port; does not come back from a failure
noreturn void reset_machine(void);
void write_bytes(const char *path, const char *bytes, size_t length); // never hangs, also on a FIFO
void write_file(const char *path, const char *text);

#endif
