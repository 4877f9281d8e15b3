// Reading and writing files, each in a child of its own: everything here may block.
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024, LINKS_MAX = 40, ACCESS_BYTES = 4096 };

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

// In a folder that all may write to, what another user's link leads to is not root's to change: the kernel's
// rule of protected links.
static bool is_trap(const char *name) {
  struct stat folder, link;
  if (stat(".", &folder) != 0 || lstat(name, &link) != 0) return false;
  const mode_t shared = S_ISVTX | S_IWOTH;
  return (folder.st_mode & shared) == shared && link.st_uid != 0 && link.st_uid != folder.st_uid;
}

// Follows the links at `name` to their target, which may be missing: enters its folder, and answers its name
// there.
static const char *follow_links(const char *name, struct outcome *outcome) {
  static char targets[2][PATH_MAX]; // `name` may lie in the other one
  for (int links = 0;; links++) {
    char *target = targets[links % 2];
    ssize_t length = readlink(name, target, PATH_MAX - 1);
    if (length < 0 || is_trap(name)) return name;
    errno = ELOOP;
    if (links == LINKS_MAX) child_fail_errno(outcome, "cannot follow the link");
    target[length] = '\0';
    char *slash = strrchr(target, '/');
    name = slash ? slash + 1 : target;
    if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) child_fail(outcome, "is_a_directory", "the link leads to a folder");
    if (slash) *slash = '\0';
    if (slash && chdir(*target ? target : "/") != 0) child_fail_errno(outcome, "cannot enter the folder that the link leads to");
  }
}

static int open_temporary(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  static char name[sizeof temporary];
  snprintf(name, sizeof name, ".skerry-%d-%lld%09ld", (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
  int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return -1;
  strcpy(temporary, name);
  signal(SIGTERM, remove_temporary);
  return open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
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

// Owner and access list of the file that is replaced. Before the permissions are set, which are the
// request's.
static bool inherit(int fd, const char *name, const struct stat *from) {
  static const char list[] = "system.posix_acl_access";
  char access[ACCESS_BYTES];
  ssize_t length = lgetxattr(name, list, access, sizeof access);
  return fchown(fd, from->st_uid, from->st_gid) == 0 && (length <= 0 || fsetxattr(fd, list, access, (size_t)length, 0) == 0);
}

// Room for all of it first, so that a full disk leaves the file as it was.
static bool make_room(int fd, off_t from, off_t to) {
  int error = to > from ? posix_fallocate(fd, from, to - from) : 0;
  if (error == 0 || error == EOPNOTSUPP || error == EINVAL || error == ENOSYS) return true;
  if (ftruncate(fd, from) == 0) errno = error;
  return false;
}

// For a file that has other names, or that something is mounted on. All has come by now, so only a crash of
// the VM leaves a part of it.
static bool overwrite(int from, const char *name, const struct request *request, int64_t size) {
  struct stat there;
  int to = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (to < 0 || fstat(to, &there) != 0) return false;
  errno = EINVAL;
  if (!S_ISREG(there.st_mode) || !make_room(to, there.st_size, size) || lseek(from, 0, SEEK_SET) != 0) return false;
  if (copy_all(from, to) != size || ftruncate(to, size) != 0) return false;
  return attributes_clear(to) && attributes_set(to, request->attributes) && fchmod(to, (mode_t)request->mode) == 0;
}

// The file that is there gives its owner and its other names to the new one.
static bool put(int fd, const char *name, const struct request *request, int64_t size) {
  struct stat there;
  bool replaces = lstat(name, &there) == 0 && S_ISREG(there.st_mode);
  bool in_place = replaces && there.st_nlink > 1;
  if (!in_place) {
    if (replaces && !inherit(fd, name, &there)) return false;
    if (fchmod(fd, (mode_t)request->mode) != 0) return false;
    if (publish(fd, name)) return true;
    if (errno != EBUSY) return false;
  }
  bool done = overwrite(fd, name, request, size);
  int error = errno;
  if (done && temporary[0]) unlink(temporary);
  errno = error;
  return done;
}

static void check_target(const char *name, struct outcome *outcome) {
  struct stat stat_of;
  if (stat(name, &stat_of) != 0 || S_ISREG(stat_of.st_mode)) return;
  if (S_ISDIR(stat_of.st_mode)) child_fail(outcome, "is_a_directory", "it is a folder");
  child_fail(outcome, "not_a_file", "it is not a file");
}

void write_child(const struct request *request, struct outcome *outcome) {
  umask(0);
  const char *name = enter_parent(request->path, outcome);
  check_target(name, outcome);
  name = follow_links(name, outcome);
  int fd = open_temporary();
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
  if (!put(fd, name, request, size)) give_up(outcome, "cannot put the file in its place");
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
  atomic_store(&outcome->has_head, true);
  if (copy_all(fd, 1) < 0) child_fail_errno(outcome, "cannot read the file");
  child_succeed(outcome, "{}");
}
