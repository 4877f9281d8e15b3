#include "run-files.h"
#include "boot.h"
#include "operations.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool says(const char *path, const char *text) {
  char found[RUN_FILE_MAX_BYTES + 1];
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t count = read(fd, found, sizeof found);
  close(fd);
  return count == (ssize_t)strlen(text) && memcmp(found, text, (size_t)count) == 0;
}

void run_files_write(char *const *pairs) {
  if (!machine_is_ours) return;
  for (; *pairs; pairs++) {
    char path[sizeof "/run/" + RUN_FILE_NAME_MAX_BYTES];
    size_t length = strcspn(*pairs, "=");
    snprintf(path, sizeof path, "/run/%.*s", (int)length, *pairs);
    const char *text = *pairs + length + 1;
    if (says(path, text)) continue;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    mkdir(path, 0755);
    *slash = '/';
    write_file(path, text);
  }
}
