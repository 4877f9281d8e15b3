// A folder as a tar archive, by the guest's own tar: what the archive holds, and what it does, stays in the guest.
#include "entries.h"
#include "program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void pack_child(const struct request *request, struct outcome *outcome) {
  if (chdir(request->path) != 0) child_fail_errno(outcome, "cannot enter the folder");
  char *const arguments[] = {"tar", "-cf", "-", "--", ".", NULL};
  // With 1 it says that a file has changed while it was read, as files do.
  program_run(arguments, "tar", 1, outcome);
  child_succeed(outcome, "{}");
}

// What was unpacked stays where the rest does not come.
void unpack_child(const struct request *request, struct outcome *outcome) {
  static char inside[PATH_MAX + 2];
  size_t length = strlen(request->path);
  while (length > 1 && request->path[length - 1] == '/') length--;
  if (length >= PATH_MAX) child_fail(outcome, "path_too_long", "the path is too long");
  umask(022);
  // As if for a file in it, so that it is made where it is missing.
  memcpy(inside, request->path, length);
  strcpy(inside + length, "/x");
  enter_parent(inside, outcome);
  char *const arguments[] = {"tar", "-xpf", "-", NULL};
  program_run(arguments, "tar", 0, outcome);
  child_succeed(outcome, "{}");
}
