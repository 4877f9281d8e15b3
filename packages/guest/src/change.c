// Changes of names and permissions, each in a child of its own. What is asked for is done by path, as a command in the guest would do it.
#include "entries.h"
#include "program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mkdir_child(const struct request *request, struct outcome *outcome) {
  umask(0);
  static char path[PATH_MAX];
  size_t length = strlen(request->path);
  while (length > 1 && request->path[length - 1] == '/') request->path[--length] = '\0';
  struct stat status;
  if (length >= PATH_MAX) child_fail(outcome, "path_too_long", "the path is too long");
  strcpy(path, request->path);
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) send_entry(path, true, outcome);
  const char *name = enter_parent(request->path, outcome);
  bool is_made = mkdir(name, (mode_t)request->mode & 0777) == 0;
  if (!is_made && errno != EEXIST) child_fail_errno(outcome, "cannot make the folder");
  if (is_made) {
    // mkdir leaves the special bits out, and takes some from the folder above. Who may write there may have put a link in its place.
    int folder = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fchmod(folder, (mode_t)request->mode) != 0) child_fail_errno(outcome, "cannot set the permissions");
    close(folder);
  }
  if (stat(path, &status) != 0) child_fail_errno(outcome, "cannot find the folder");
  if (!S_ISDIR(status.st_mode)) child_fail(outcome, "not_a_directory", "it is there, and is no folder");
  send_entry(path, true, outcome);
}

void chmod_child(const struct request *request, struct outcome *outcome) {
  if (chmod(request->path, (mode_t)request->mode) != 0) child_fail_errno(outcome, "cannot set the permissions");
  send_entry(request->path, true, outcome);
}

// ---- move

static noreturn void fail_move(struct outcome *outcome) {
  if (errno == EINVAL) child_fail(outcome, "into_itself", "a folder cannot be moved into itself");
  child_fail_errno(outcome, "cannot move it");
}

void move_child(const struct request *request, struct outcome *outcome) {
  static char target[PATH_MAX], folder[PATH_MAX];
  struct stat status;
  if (strlen(request->to) >= PATH_MAX) child_fail(outcome, "path_too_long", "the path is too long");
  strcpy(target, request->to);
  if (lstat(request->path, &status) != 0) child_fail_errno(outcome, "cannot find what is to be moved");
  strcpy(folder, target);
  enter_parent(folder, outcome);
  umask(022);
  if (rename(request->path, target) != 0) {
    if (errno != EXDEV) fail_move(outcome);
    // Between two file systems it is copied, and what was there is removed.
    char *const arguments[] = {"mv", "-f", "-T", "--", request->path, target, NULL};
    program_run(arguments, "mv", 0, outcome);
  }
  send_entry(target, false, outcome);
}

// ---- remove

// The folders between the one that is emptied and the one that was asked for. It is entered by chdir, so that a tree may be deeper than
// there are descriptors; and where it was moved away meanwhile, what `..` leads to is not touched.
static struct level {
  dev_t device;
  ino_t inode;
} *levels;
static size_t depth, room;

static void enter(const char *name, struct outcome *outcome) {
  struct stat here;
  if (stat(".", &here) != 0) child_fail_errno(outcome, "cannot find the folder");
  if (depth == room) {
    room = room == 0 ? 64 : 2 * room;
    levels = realloc(levels, room * sizeof *levels);
    if (!levels) child_fail(outcome, "out_of_memory", "the tree is too deep");
  }
  levels[depth++] = (struct level){here.st_dev, here.st_ino};
  int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || fchdir(fd) != 0) child_fail_errno(outcome, "cannot enter the folder");
  close(fd);
}

static void leave(struct outcome *outcome) {
  struct stat here;
  const struct level *level = &levels[--depth];
  if (chdir("..") != 0 || stat(".", &here) != 0) child_fail_errno(outcome, "cannot leave the folder");
  if (here.st_dev != level->device || here.st_ino != level->inode) {
    child_fail(outcome, "not_found", "the folder was moved away while it was removed");
  }
}

// True where it is gone, also by another process.
static bool remove_one(const char *name, struct outcome *outcome) {
  struct stat status;
  if (lstat(name, &status) != 0 && errno == ENOENT) return true;
  if (unlinkat(AT_FDCWD, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) child_fail_errno(outcome, "cannot remove it");
  return false;
}

// Empties the working directory until there is something in it that must be emptied first, and enters that. True where it is empty.
static bool empty_until_full(struct outcome *outcome) {
  DIR *folder = opendir(".");
  if (!folder) child_fail_errno(outcome, "cannot open the folder");
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (remove_one(entry->d_name, outcome)) continue;
    char name[NAME_MAX + 1];
    strcpy(name, entry->d_name);
    closedir(folder);
    enter(name, outcome);
    return false;
  }
  closedir(folder);
  return true;
}

void remove_child(const struct request *request, struct outcome *outcome) {
  static char path[PATH_MAX];
  size_t length = strlen(request->path);
  if (length >= PATH_MAX) child_fail(outcome, "path_too_long", "the path is too long");
  strcpy(path, request->path);
  while (length > 1 && path[length - 1] == '/') path[--length] = '\0';
  if (strcmp(path, "/") == 0) child_fail(outcome, "permission_denied", "the root folder cannot be removed");
  struct stat status;
  if (lstat(path, &status) != 0) child_fail_errno(outcome, "cannot find it");
  if (remove_one(path, outcome)) child_succeed(outcome, "{}");
  if (!request->recursive) child_fail(outcome, "not_empty", "the folder is not empty");
  char *name = strrchr(path, '/');
  *name++ = '\0';
  if (chdir(path[0] ? path : "/") != 0) child_fail_errno(outcome, "cannot enter the folder");
  while (!remove_one(name, outcome)) {
    enter(name, outcome);
    while (depth > 0) {
      if (empty_until_full(outcome)) leave(outcome);
    }
  }
  child_succeed(outcome, "{}");
}
