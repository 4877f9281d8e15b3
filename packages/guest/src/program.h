// Programs of the guest that an operation needs.
#ifndef SKERRY_PROGRAM_H
#define SKERRY_PROGRAM_H

#include "child.h"

// Runs it with the standard input and output of this child, and returns where it has exited with no more than `most_status`. Otherwise the
// child ends with `NAME_missing`, `NAME_failed`, or with what the file system of the working directory says.
void program_run(char *const arguments[], const char *name, int most_status, struct outcome *outcome);

#endif
