// Small files of the machine's /run, by which programs find out where they run.
#ifndef SKERRY_RUN_FILES_H
#define SKERRY_RUN_FILES_H

// Pairs "NAME=text", as a request has them. A file that has its text already is not written again. On a machine that
// is not the agent's own, nothing is written.
void run_files_write(char *const *pairs);

#endif
