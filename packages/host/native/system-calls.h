// The system calls that are left to a process that becomes QEMU, and to QEMU.
#pragma once

// For good, also over exec. Needs no_new_privs.
void restrict_system_calls(void);
