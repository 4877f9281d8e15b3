#define _GNU_SOURCE
#include "fail.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int report = -1;

void report_failure_to(int fd) { report = fd; }

_Noreturn void fail(const char *step, const char *subject) {
  fprintf(stderr, "%s: %s %s: %s\n", program_invocation_short_name, step, subject, strerror(errno));
  if (report >= 0 && write(report, "!", 1) < 0) _exit(FAILED);
  exit(FAILED);
}
