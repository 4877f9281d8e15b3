// Reading, writing and listing files, each in a child of its own: everything here may block.
#include "child.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, LINES_BYTES = 32 * 1024, LINE_MAX_BYTES = 6 * NAME_MAX + 160 };

static char temporary[NAME_MAX + 1]; // in the working directory, "" for none

static int64_t modified_ms(const struct stat *stat) {
  return (int64_t)stat->st_mtim.tv_sec * 1000 + stat->st_mtim.tv_nsec / 1000000;
}

static bool write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno != EINTR) return false;
    if (written < 0) continue;
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

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

// Enters the folder of `path`, making what is missing, and answers the last name. From there on every path is
// a single name, so no other process can replace a folder of the path.
static const char *enter_parent(char *path, struct outcome *outcome) {
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

// ---- list

static const char *type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return S_ISLNK(mode) ? "symlink" : "other";
}

void list_child(const struct request *request, struct outcome *outcome) {
  static char lines[LINES_BYTES];
  size_t used = 0;
  int64_t count = 0;
  DIR *folder = opendir(request->path);
  if (!folder) child_fail_errno(outcome, "cannot open the folder");
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(folder);
    struct stat stat;
    if (!entry && errno != 0) child_fail_errno(outcome, "cannot read the folder");
    if (!entry) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0) continue; // gone meanwhile
    if (count++ == request->limit) break;
    used += (size_t)sprintf(lines + used, "{\"name\":");
    used += json_quote(lines + used, entry->d_name);
    used += (size_t)sprintf(lines + used, ",\"size\":%lld,\"type\":\"%s\",\"modified_ms\":%lld}\n",
                            (long long)stat.st_size, type_of(stat.st_mode), (long long)modified_ms(&stat));
    if (used <= sizeof lines - LINE_MAX_BYTES) continue;
    if (!write_all(1, lines, used)) child_fail_errno(outcome, "cannot send the list");
    used = 0;
  }
  if (!write_all(1, lines, used)) child_fail_errno(outcome, "cannot send the list");
  child_succeed(outcome, count > request->limit ? "{\"truncated\":true}" : "{\"truncated\":false}");
}
