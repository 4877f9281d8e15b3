// What makes many small files is nearly all system calls, so there are no more of them than a file needs: two `tar`s with a pipe between them take
// up to twice as long, and `cp` longer still.
#include "copy-tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  BUFFER_BYTES = 131072,
  OPEN_FILES = 16384, // two for each folder on the way down
};

// A file with more than one name, and the first that it has got here.
struct linked {
  dev_t device;
  ino_t number;
  char *path;
};

static char buffer[BUFFER_BYTES];
static char path[PATH_MAX]; // of what is copied now, below the target
static int target;
static void *seen;
static enum owners owners;

static bool failed(const char *what) {
  fprintf(stderr, "copy: %s: %s: %s\n", *path ? path : ".", what, strerror(errno));
  return false;
}

static int compare(const void *left, const void *right) {
  const struct linked *one = left, *other = right;
  if (one->device != other->device) return one->device < other->device ? -1 : 1;
  if (one->number != other->number) return one->number < other->number ? -1 : 1;
  return 0;
}

// What is in the way goes, unless it is a folder with something in it.
static bool make_way(int folder, const char *name) {
  return unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

static bool in_the_way(int folder, const char *name) { return errno == EEXIST && make_way(folder, name); }

static bool set_time(int folder, const char *name, const struct stat *as) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, as->st_mtim};
  int done = name ? utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW) : futimens(folder, times);
  return done == 0 || failed("its time cannot be set");
}

// Before its permissions are set, of which some go with its owner.
static bool set_owner(int folder, const char *name, const struct stat *as) {
  if (owners == NEW_OWNERS) return true;
  int flags = name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
  return fchownat(folder, name ? name : "", as->st_uid, as->st_gid, flags) == 0 || failed("its owner cannot be set");
}

// Sets `is_done` where it is another name of a file that is there already.
static bool link_again(int folder, const char *name, const struct stat *found, bool *is_done) {
  if (found->st_nlink < 2) return true;
  struct linked wanted = {found->st_dev, found->st_ino, NULL};
  struct linked **known = tfind(&wanted, &seen, compare);
  if (!known) {
    struct linked *first = malloc(sizeof *first);
    if (!first || !(wanted.path = strdup(path))) return failed("no memory");
    *first = wanted;
    return tsearch(first, &seen, compare) || failed("no memory");
  }
  *is_done = true;
  const char *before = (*known)->path;
  if (linkat(target, before, folder, name, 0) == 0) return true;
  if (in_the_way(folder, name) && linkat(target, before, folder, name, 0) == 0) return true;
  return failed("cannot be linked");
}

static bool copy_bytes(int source, int made, off_t left) {
  while (left > 0) {
    ssize_t count = read(source, buffer, sizeof buffer);
    if (count < 0) return failed("cannot be read");
    if (count == 0) break;
    for (ssize_t at = 0; at < count;) {
      ssize_t written = write(made, buffer + at, (size_t)(count - at));
      if (written < 0) return failed("cannot be written");
      at += written;
    }
    left -= count;
  }
  return true;
}

static bool copy_content(int source, int folder, const char *name) {
  struct stat found;
  if (fstat(source, &found) != 0) return failed("cannot be read");
  bool is_done = false;
  if (!link_again(folder, name, &found, &is_done)) return false;
  if (is_done) return true;
  int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int made = openat(folder, name, flags, found.st_mode & 07777);
  if (made < 0 && in_the_way(folder, name)) made = openat(folder, name, flags, found.st_mode & 07777);
  if (made < 0) return failed("cannot be made");
  bool copied = copy_bytes(source, made, found.st_size) && set_owner(made, NULL, &found);
  if (copied && owners == KEEP_OWNERS && fchmod(made, found.st_mode & 07777) != 0) copied = failed("its permissions cannot be set");
  copied = copied && set_time(made, NULL, &found);
  // Some file systems say only here that they are full.
  if (close(made) != 0 && copied) return failed("cannot be written");
  return copied;
}

static bool copy_file(int from, int folder, const char *name) {
  int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (source < 0) return failed("cannot be read");
  bool copied = copy_content(source, folder, name);
  close(source);
  return copied;
}

static int make_special(int from, int folder, const char *name, const struct stat *found) {
  if (!S_ISLNK(found->st_mode)) return mknodat(folder, name, found->st_mode, found->st_rdev);
  char leads_to[PATH_MAX];
  ssize_t length = readlinkat(from, name, leads_to, sizeof leads_to - 1);
  if (length < 0) return -1;
  leads_to[length] = '\0';
  return symlinkat(leads_to, folder, name);
}

// A link, a FIFO or a device. A socket is nothing without its program.
static bool copy_special(int from, int folder, const char *name) {
  struct stat found;
  if (fstatat(from, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return failed("cannot be read");
  if (S_ISSOCK(found.st_mode)) return true;
  bool is_done = false;
  if (!link_again(folder, name, &found, &is_done)) return false;
  if (is_done) return true;
  int made = make_special(from, folder, name, &found);
  if (made != 0 && in_the_way(folder, name)) made = make_special(from, folder, name, &found);
  if (made != 0) return failed("cannot be made");
  return set_owner(folder, name, &found) && set_time(folder, name, &found);
}

static bool copy_entries(DIR *from, int to);

static bool fill_folder(DIR *entries, int folder, const char *name) {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  struct stat found;
  if (fstat(dirfd(entries), &found) != 0) return failed("cannot be read");
  bool is_new = mkdirat(folder, name, 0700) == 0;
  if (!is_new && errno != EEXIST) return failed("cannot be made");
  int to = openat(folder, name, flags);
  if (to < 0 && !is_new && make_way(folder, name)) {
    is_new = mkdirat(folder, name, 0700) == 0;
    to = openat(folder, name, flags);
  }
  if (to < 0) return failed("cannot be made");
  bool copied = copy_entries(entries, to);
  if (copied && is_new) copied = set_owner(to, NULL, &found);
  if (copied && is_new && fchmod(to, found.st_mode & 07777) != 0) copied = failed("its permissions cannot be set");
  if (copied && is_new) copied = set_time(to, NULL, &found);
  close(to);
  return copied;
}

static bool copy_folder(int from, int folder, const char *name) {
  int source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *entries = source < 0 ? NULL : fdopendir(source);
  if (!entries) return failed("cannot be read");
  bool copied = fill_folder(entries, folder, name);
  closedir(entries);
  return copied;
}

static unsigned char type_of(int from, const struct dirent *entry) {
  struct stat found;
  if (entry->d_type != DT_UNKNOWN || fstatat(from, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) return entry->d_type;
  return S_ISDIR(found.st_mode) ? DT_DIR : S_ISREG(found.st_mode) ? DT_REG : DT_LNK;
}

static bool copy_entry(int from, int to, const struct dirent *entry) {
  switch (type_of(from, entry)) {
  case DT_DIR: return copy_folder(from, to, entry->d_name);
  case DT_REG: return copy_file(from, to, entry->d_name);
  default: return copy_special(from, to, entry->d_name);
  }
}

static bool copy_entries(DIR *from, int to) {
  const size_t length = strlen(path);
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(from);
    if (!entry) return errno == 0 || failed("cannot be read");
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    int added = snprintf(path + length, sizeof path - length, "%s%s", length ? "/" : "", entry->d_name);
    if (added < 0 || (size_t)added >= sizeof path - length) {
      errno = ENAMETOOLONG;
      return failed("cannot be copied");
    }
    if (!copy_entry(dirfd(from), to, entry)) return false;
    path[length] = '\0';
  }
}

int copy_tree(const char *root, const char *from, const char *to, enum owners kept) {
  owners = kept;
  const struct rlimit many = {OPEN_FILES, OPEN_FILES};
  setrlimit(RLIMIT_NOFILE, &many);
  umask(0);
  DIR *source = opendir(from);
  if (!source) return failed("the folder to copy cannot be opened"), 1;
  if (chroot(root) != 0 || chdir("/") != 0) return failed("the root directory cannot be entered"), 1;
  target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (target < 0) return failed("the folder to copy to cannot be opened"), 1;
  return copy_entries(source, target) ? 0 : 1;
}
