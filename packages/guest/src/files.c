// Reading and writing files, each in a child of its own: everything here may block.
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024 };

static char temporary[NAME_MAX + 1]; // in the working directory, "" for none

// Moves everything from one to the other, one of them a pipe: by splice where the file system can, else by
// hand.
static int64_t copy_all(int from, int to) {
  static char bytes[COPY_BYTES];
  int64_t copied = 0;
  bool spliced = true;
  for (;;) {
    ssize_t got = spliced ? splice(from, NULL, to, NULL, 1 << 20, 0) : read(from, bytes, sizeof bytes);
    if (got < 0 && spliced && (errno == EINVAL || errno == ENOSYS))
      spliced = false;
    else if (got < 0 && errno != EINTR)
      return -1;
    else if (got == 0 && !spliced)
      return copied;
    else if (got == 0)
      spliced = copied > 0; // files like those of /proc say nothing to splice
    if (got == 0 && spliced) return copied;
    if (got <= 0) continue;
    if (!spliced && !write_all(to, bytes, (size_t)got)) return -1;
    copied += got;
  }
}

// ---- write

static void remove_temporary(int signal) {
  (void)signal;
  if (temporary[0]) unlink(temporary);
  _exit(1);
}

static noreturn void give_up(struct outcome *outcome, const char *doing) {
  int error = errno;
  if (temporary[0]) unlink(temporary);
  errno = error;
  child_fail_errno(outcome, doing);
}

const char *enter_parent(char *path, struct outcome *outcome) {
  if (strlen(path) >= PATH_MAX) child_fail(outcome, "path_too_long", "the path is too long");
  char *name = strrchr(path, '/') + 1;
  if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    child_fail(outcome, "is_a_directory", "the path names a folder");
  }
  if (strlen(name) > NAME_MAX) child_fail(outcome, "path_too_long", "the file's name is too long");
  name[-1] = '\0';
  if (chdir(path[0] ? path : "/") == 0) return name;
  if (errno != ENOENT) child_fail_errno(outcome, "cannot enter the folder");
  if (chdir("/") != 0) child_fail_errno(outcome, "cannot enter the folder");
  for (char *rest = NULL, *part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
    if (mkdir(part, 0755) != 0 && errno != EEXIST) child_fail_errno(outcome, "cannot make the folder");
    if (chdir(part) != 0) child_fail_errno(outcome, "cannot enter the folder");
  }
  return name;
}

static int open_temporary(mode_t mode) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  static char name[sizeof temporary];
  snprintf(name, sizeof name, ".skerry-%d-%lld%09ld", (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
  int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd >= 0) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return -1;
  strcpy(temporary, name);
  signal(SIGTERM, remove_temporary);
  return open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode);
}

// A file without a name cannot replace one that is there, so it gets a temporary one first.
static bool publish(int fd, const char *name) {
  if (!temporary[0]) {
    if (linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH) == 0) return true;
    if (errno != EEXIST) return false;
    snprintf(temporary, sizeof temporary, ".skerry-%d-%d", (int)getpid(), (int)time(NULL));
    if (linkat(fd, "", AT_FDCWD, temporary, AT_EMPTY_PATH) != 0) return false;
  }
  return rename(temporary, name) == 0;
}

void write_child(const struct request *request, struct outcome *outcome) {
  umask(0);
  const char *name = enter_parent(request->path, outcome);
  struct stat stat;
  if (lstat(name, &stat) == 0 && !S_ISREG(stat.st_mode) && !S_ISLNK(stat.st_mode)) {
    bool folder = S_ISDIR(stat.st_mode);
    child_fail(outcome, folder ? "is_a_directory" : "not_a_file",
               folder ? "it is a folder" : "it is not a file");
  }
  mode_t mode = (mode_t)request->mode;
  int fd = open_temporary(mode);
  if (fd < 0) give_up(outcome, "cannot make the file");
  int64_t size = copy_all(0, fd);
  if (size < 0) give_up(outcome, "cannot write the file");
  if (!outcome->committed) remove_temporary(0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL); // from here on a cancel comes too late
  if (!attributes_set(fd, request->attributes)) {
    if (errno != EOPNOTSUPP) give_up(outcome, "cannot set the attributes");
    if (temporary[0]) unlink(temporary);
    child_fail(outcome, "permission_denied", "the file system keeps no attributes");
  }
  if (fchmod(fd, mode) != 0 || !publish(fd, name)) give_up(outcome, "cannot put the file in its place");
  char result[OUTCOME_BYTES];
  snprintf(result, sizeof result, "{\"size\":%lld}", (long long)size);
  child_succeed(outcome, result);
}

// ---- read

static void check_is_file(const struct stat *stat, struct outcome *outcome) {
  if (S_ISDIR(stat->st_mode)) child_fail(outcome, "is_a_directory", "it is a folder");
  if (!S_ISREG(stat->st_mode)) child_fail(outcome, "not_a_file", "it is not a file");
}

void read_child(const struct request *request, struct outcome *outcome) {
  struct stat status;
  // Looked at first, because opening a device can already have an effect.
  if (stat(request->path, &status) != 0) child_fail_errno(outcome, "cannot find the file");
  check_is_file(&status, outcome);
  int fd = open(request->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &status) != 0) child_fail_errno(outcome, "cannot open the file");
  check_is_file(&status, outcome);
  snprintf(outcome->head, sizeof outcome->head, "{\"size\":%lld,\"mode\":%u,\"modified_ms\":%lld}",
           (long long)status.st_size, (unsigned)status.st_mode & 07777, (long long)modified_ms(&status));
  if (copy_all(fd, 1) < 0) child_fail_errno(outcome, "cannot read the file");
  child_succeed(outcome, "{}");
}
