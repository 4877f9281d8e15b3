// Small files of the machine's /run, by which programs find out where they run.
#ifndef SKERRY_RUN_FILES_H
#define SKERRY_RUN_FILES_H

// Pairs "NAME=text", as a request has them. What is there already stays as it is. Nothing on a machine that is not ours.
void run_files_write(char *const *pairs);

#endif
