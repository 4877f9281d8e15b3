// How every step of `launch` and `contain` fails: with a line that says which one and why.
#pragma once

enum { FAILED = 126 };

// In the process that becomes QEMU: whoever reads the other end learns that it did not.
void report_failure_to(int fd);

_Noreturn void fail(const char *step, const char *subject);
