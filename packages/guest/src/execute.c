#include "child.h"
#include "run-files.h"
#include "user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char *defaults[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
                           NULL};
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };
enum { DEFAULTS = sizeof defaults / sizeof defaults[0] - 1, OF_USER = 4 };

// The sandbox's own variables: copies in one block, replaced as a whole.
static char *configured[ENV_MAX_ENTRIES + 1], *configured_text;

bool environment_keep(const struct request *configure) {
  size_t size = 1;
  for (char *const *entry = configure->env; *entry; entry++) size += strlen(*entry) + 1;
  char *text = malloc(size), *to = text; // at most one payload
  if (!text) return false;
  unsigned count = 0;
  for (char *const *entry = configure->env; *entry; entry++) {
    configured[count++] = to;
    to = stpcpy(to, *entry) + 1;
  }
  configured[count] = NULL;
  free(configured_text);
  configured_text = text;
  return true;
}

static void lay_under(char **env, unsigned *count, char *const *entries) {
  unsigned above = *count;
  for (; *entries; entries++) {
    size_t key = strcspn(*entries, "=") + 1;
    unsigned i = 0;
    while (i < above && strncmp(env[i], *entries, key) != 0) i++;
    if (i == above) env[(*count)++] = *entries;
  }
}

// Ends like a shell that cannot run it.
static noreturn void run_program(char *const program[], char **env) {
  environ = env; // whose PATH is searched
  execvp(program[0], program);
  int error = errno;
  dprintf(2, "%s: %s\n", program[0], strerror(error));
  _exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

void execute_child(const struct request *request, struct outcome *outcome) {
  static char *env[2 * ENV_MAX_ENTRIES + DEFAULTS + OF_USER + 2];
  unsigned count = 0;
  lay_under(env, &count, request->env);
  lay_under(env, &count, configured);
  lay_under(env, &count, defaults);
  if (request->tty) lay_under(env, &count, (char *[]){"TERM=xterm-256color", NULL});
  setsid();
  if (request->tty) ioctl(0, TIOCSCTTY, 0);
  run_files_write(request->run_files);
  lay_under(env, &count, user_enter(request, outcome));
  if (request->program[0]) run_program(request->program, env);
  char *const arguments[] = {"sh", "-c", "--", request->command, NULL};
  execve("/bin/sh", arguments, env);
  if (errno == ENOENT) child_fail(outcome, "shell_missing", "there is no /bin/sh");
  child_fail_errno(outcome, "cannot run /bin/sh");
}
