// Watches a folder and tells what changes in it, as lines of JSON: `{event, name, type}`. The kernel's queue is the only one: where the host
// does not take the events, this child waits, the queue overflows, and that is told as an event too.
#include "entries.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
  FOLDERS_MAX = 8192, // that one watch may be of; contract/src/bounds.ts has the same
  EVENTS_BYTES = 64 * 1024,
  TOLD = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB,
  OF_ITSELF = IN_DELETE_SELF | IN_MOVE_SELF,
};

// Sorted by `watch`. The first one's path is empty; each other one's ends with a slash.
static struct folder {
  int watch;
  char *path;
} folders[FOLDERS_MAX];
static unsigned count;
static int queue;
static char root[PATH_MAX]; // not its descriptor: one that is open has no end of its own
static bool recursive;

static void tell(const char *event, const char *folder, const char *name, bool is_folder, struct outcome *outcome) {
  static char line[6 * (PATH_MAX + NAME_MAX) + 100];
  char path[PATH_MAX + NAME_MAX];
  snprintf(path, sizeof path, "%s%s", folder, name);
  size_t used = (size_t)sprintf(line, "{\"event\":\"%s\",\"name\":", event);
  used += json_quote(line + used, path);
  used += (size_t)sprintf(line + used, ",\"type\":\"%s\"}\n", is_folder ? "directory" : "file");
  if (!write_all(1, line, used)) child_fail_errno(outcome, "cannot send the events");
}

// ---- the folders

static unsigned place_of(int watch) {
  unsigned low = 0, high = count;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (folders[middle].watch < watch) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct folder *folder_of(int watch) {
  unsigned at = place_of(watch);
  return at < count && folders[at].watch == watch ? &folders[at] : NULL;
}

static void forget(unsigned at) {
  free(folders[at].path);
  memmove(folders + at, folders + at + 1, (--count - at) * sizeof *folders);
}

static bool remember(int watch, const char *path) {
  char *copy = strdup(path);
  unsigned at = place_of(watch);
  if (!copy) return false;
  if (at < count && folders[at].watch == watch) free(folders[at].path); // the same folder, which was moved here
  else memmove(folders + at + 1, folders + at, (count++ - at) * sizeof *folders);
  folders[at] = (struct folder){watch, copy};
  return true;
}

// Folders that are still to be watched. Not one in the other: a user's tree may be deeper than a stack, or than there are descriptors.
static char *pending[FOLDERS_MAX];
static unsigned pending_count;

static bool expect(const char *path) {
  char *copy = pending_count < FOLDERS_MAX ? strdup(path) : NULL;
  if (copy) pending[pending_count++] = copy;
  return copy != NULL;
}

// What has come into a new folder before it was watched has no events of its own.
static bool expect_below(int fd, const char *path, bool is_new, struct outcome *outcome) {
  DIR *folder = fdopendir(fd);
  bool complete = folder != NULL;
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    struct stat stat;
    char below[PATH_MAX];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_new) tell("create", path, entry->d_name, S_ISDIR(stat.st_mode), outcome);
    if (!S_ISDIR(stat.st_mode)) continue;
    bool fits = snprintf(below, sizeof below, "%s%s/", path, entry->d_name) < (int)sizeof below;
    complete = fits && expect(below) && complete;
  }
  if (folder) closedir(folder);
  return complete;
}

static bool add_one(const char *path, bool is_new, struct outcome *outcome) {
  char self[40], whole[2 * PATH_MAX];
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  int fd = open(path[0] ? whole : root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == ELOOP; // gone, or replaced by something else
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd); // the one that was opened, and not another in its place
  int watch = count < FOLDERS_MAX ? inotify_add_watch(queue, self, TOLD | OF_ITSELF | IN_ONLYDIR) : -1;
  if (watch < 0 || !remember(watch, path)) {
    close(fd);
    return false;
  }
  if (recursive) return expect_below(fd, path, is_new, outcome);
  close(fd);
  return true;
}

// Watches the folder and, where that is wanted, all below it. False where one of them cannot be watched. Links are not followed.
static bool add(const char *path, bool is_new, struct outcome *outcome) {
  bool complete = expect(path);
  while (pending_count > 0) {
    char *next = pending[--pending_count];
    complete = add_one(next, is_new, outcome) && complete;
    free(next);
  }
  return complete;
}

static void drop_below(const char *folder, const char *name) {
  char path[PATH_MAX + NAME_MAX];
  size_t length = (size_t)snprintf(path, sizeof path, "%s%s/", folder, name);
  for (unsigned i = count; i-- > 0;) {
    if (strncmp(folders[i].path, path, length) != 0) continue;
    inotify_rm_watch(queue, folders[i].watch);
    forget(i);
  }
}

// ---- the events

static void overflow(struct outcome *outcome) {
  tell("overflow", "", "", true, outcome);
}

static void take(const struct inotify_event *event, struct outcome *outcome) {
  if (event->mask & IN_Q_OVERFLOW) return overflow(outcome);
  const struct folder *folder = folder_of(event->wd);
  if (!folder) return; // it was forgotten, and this had been on its way
  bool is_root = folder->path[0] == '\0';
  if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) && is_root) {
    child_succeed(outcome, "{\"reason\":\"removed\"}");
  }
  if (event->mask & IN_IGNORED) return forget((unsigned)(folder - folders));
  const char *name = event->len > 0 ? event->name : "";
  bool is_folder = event->mask & IN_ISDIR;
  if (!(event->mask & TOLD) || (!name[0] && !is_root)) return; // of itself: the folder above tells it too
  const char *what = event->mask & (IN_CREATE | IN_MOVED_TO) ? "create"
                     : event->mask & IN_MODIFY               ? "write"
                     : event->mask & IN_DELETE               ? "remove"
                     : event->mask & IN_MOVED_FROM           ? "rename"
                                                             : "chmod";
  tell(what, folder->path, name, is_folder, outcome);
  if (!is_folder || !recursive || !name[0]) return;
  if (event->mask & IN_MOVED_FROM) drop_below(folder->path, name);
  if (!(event->mask & (IN_CREATE | IN_MOVED_TO))) return;
  char path[PATH_MAX + NAME_MAX];
  snprintf(path, sizeof path, "%s%s/", folder->path, name); // the table may move while it is added to
  if (strlen(path) >= PATH_MAX || !add(path, true, outcome)) overflow(outcome);
}

void watch_child(const struct request *request, struct outcome *outcome) {
  static char events[EVENTS_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
  recursive = request->recursive;
  struct stat status;
  if (!realpath(request->path, root) || stat(root, &status) != 0) child_fail_errno(outcome, "cannot find the folder");
  if (!S_ISDIR(status.st_mode)) child_fail(outcome, "not_a_directory", "it is no folder");
  queue = inotify_init1(IN_CLOEXEC);
  if (queue < 0) child_fail(outcome, "too_many_watches", "the guest's kernel has no more watches");
  if (!add("", false, outcome)) child_fail(outcome, "too_many_watches", "not all folders can be watched");
  tell("start", "", "", true, outcome);
  for (;;) {
    ssize_t length = read(queue, events, sizeof events);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) child_fail_errno(outcome, "cannot read the events");
    for (char *at = events; at < events + length;) {
      const struct inotify_event *event = (const struct inotify_event *)at;
      take(event, outcome);
      at += sizeof *event + event->len;
    }
  }
}
