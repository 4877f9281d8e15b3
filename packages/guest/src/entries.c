// What is in a folder, also in those below it, and what is known of one file: read in a child, since a file system may hang.
#include "entries.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  LINES_BYTES = LINE_MAX_BYTES + 32 * 1024,
  SENT_MAX_BYTES = 4 << 20, // of one list; contract/src/bounds.ts has the same
  NAMES_BYTES = 64 * 1024,  // that are looked at of /etc/passwd and /etc/group
};

int64_t modified_ms(const struct stat *stat) {
  return (int64_t)stat->st_mtim.tv_sec * 1000 + stat->st_mtim.tv_nsec / 1000000;
}

bool write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno != EINTR) return false;
    if (written < 0) continue;
    bytes += written;
    length -= (size_t)written;
  }
  return true;
}

// ---- one entry

static const char *type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return S_ISLNK(mode) ? "symlink" : "other";
}

struct names {
  const char *path;
  unsigned known; // the id that `name` belongs to
  char name[NAME_BYTES];
  char *text;
};

static void read_names(struct names *names) {
  struct stat stat;
  names->text = calloc(1, NAMES_BYTES + 1);
  int fd = open(names->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  bool is_file = fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
  size_t length = 0;
  while (names->text && is_file && length < NAMES_BYTES) {
    ssize_t got = read(fd, names->text + length, NAMES_BYTES - length);
    if (got <= 0) break;
    length += (size_t)got;
  }
  if (fd >= 0) close(fd);
}

// By hand, because the library would also ask a server that listens in the guest. An id without a name is told as a number.
static const char *name_of(struct names *names, unsigned id) {
  if (names->name[0] && names->known == id) return names->name;
  if (!names->text) read_names(names);
  names->known = id;
  snprintf(names->name, sizeof names->name, "%u", id);
  for (const char *line = names->text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    size_t length = strcspn(line, ":\n");
    unsigned found;
    if (length == 0 || length >= NAME_BYTES || sscanf(line + length, ":%*[^:\n]:%u", &found) != 1 || found != id)
      continue;
    memcpy(names->name, line, length);
    names->name[length] = '\0';
    break;
  }
  return names->name;
}

// Only these two kinds have any. No call names a file from a descriptor and a name, so the folder is entered.
static size_t add_attributes(char *line, mode_t mode, int folder, const char *base) {
  bool is_inside = folder != AT_FDCWD;
  if (!S_ISREG(mode) && !S_ISDIR(mode)) return 0;
  if (is_inside && fchdir(folder) != 0) return 0;
  static char attributes[ATTRIBUTES_JSON_BYTES];
  if (attributes_quote(attributes, base, !is_inside) == 0) return 0;
  return (size_t)sprintf(line, ",\"attributes\":%s", attributes);
}

size_t entry_line(char *line, const char *name, const struct stat *stat, int folder, const char *base) {
  static struct names users = {.path = "/etc/passwd"}, groups = {.path = "/etc/group"};
  size_t used = (size_t)sprintf(line, "{\"name\":");
  used += json_quote(line + used, name);
  used += (size_t)sprintf(line + used, ",\"size\":%lld,\"type\":\"%s\",\"mode\":%u,\"modified_ms\":%lld,\"owner\":",
                          (long long)stat->st_size, type_of(stat->st_mode), (unsigned)stat->st_mode & 07777,
                          (long long)modified_ms(stat));
  used += json_quote(line + used, name_of(&users, stat->st_uid));
  used += (size_t)sprintf(line + used, ",\"group\":");
  used += json_quote(line + used, name_of(&groups, stat->st_gid));
  char target[PATH_MAX];
  ssize_t length = S_ISLNK(stat->st_mode) ? readlinkat(folder, base, target, sizeof target - 1) : -1;
  if (length >= 0) {
    target[length] = '\0';
    used += (size_t)sprintf(line + used, ",\"target\":");
    used += json_quote(line + used, target);
  }
  used += add_attributes(line + used, stat->st_mode, folder, base);
  return used + (size_t)sprintf(line + used, "}\n");
}

void send_entry(const char *path, bool follow, struct outcome *outcome) {
  static char line[LINE_MAX_BYTES];
  struct stat status;
  if ((follow ? stat(path, &status) : lstat(path, &status)) != 0) child_fail_errno(outcome, "cannot find the path");
  size_t length = entry_line(line, path, &status, AT_FDCWD, path);
  if (!write_all(1, line, length)) child_fail_errno(outcome, "cannot send the entry");
  child_succeed(outcome, "{}");
}

void stat_child(const struct request *request, struct outcome *outcome) {
  send_entry(request->path, request->follow, outcome);
}

// ---- lists

static struct list {
  char lines[LINES_BYTES];
  size_t used, sent;
  int64_t count, limit;
  bool truncated;
  char path[PATH_MAX]; // of the folder that is read, from the one that was asked for, with a slash at its end
  size_t path_bytes;
} list;

static void send_lines(struct outcome *outcome) {
  if (!write_all(1, list.lines, list.used)) child_fail_errno(outcome, "cannot send the list");
  list.sent += list.used;
  list.used = 0;
}

static void add_entry(const char *name, const struct stat *stat, int folder, struct outcome *outcome) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s%s", list.path, name) >= (int)sizeof path || list.count == list.limit) {
    list.truncated = true;
    return;
  }
  list.count++;
  list.used += entry_line(list.lines + list.used, path, stat, folder, name);
  if (list.used > LINES_BYTES - LINE_MAX_BYTES) send_lines(outcome);
  if (list.sent + list.used > SENT_MAX_BYTES - LINE_MAX_BYTES) list.truncated = true;
}

static void list_folder(int fd, int64_t depth, struct outcome *outcome);

// A link is never followed, so no loop of them is walked.
static void list_below(int folder, const char *name, int64_t depth, struct outcome *outcome) {
  size_t length = strlen(name);
  if (list.path_bytes + length + 2 > sizeof list.path) {
    list.truncated = true;
    return;
  }
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return; // gone meanwhile, or not to be read
  memcpy(list.path + list.path_bytes, name, length);
  memcpy(list.path + list.path_bytes + length, "/", 2);
  list.path_bytes += length + 1;
  list_folder(fd, depth, outcome);
  list.path_bytes -= length + 1;
  list.path[list.path_bytes] = '\0';
}

// One level of `depth`, of which there are few: each holds a descriptor.
static void list_folder(int fd, int64_t depth, struct outcome *outcome) {
  DIR *folder = fdopendir(fd);
  if (!folder) child_fail_errno(outcome, "cannot open the folder");
  while (!list.truncated) {
    errno = 0;
    struct dirent *entry = readdir(folder);
    struct stat stat;
    if (!entry && errno != 0) child_fail_errno(outcome, "cannot read the folder");
    if (!entry) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0) continue; // gone meanwhile
    add_entry(entry->d_name, &stat, fd, outcome);
    if (depth > 1 && S_ISDIR(stat.st_mode) && !list.truncated) list_below(fd, entry->d_name, depth - 1, outcome);
  }
  closedir(folder);
}

void list_child(const struct request *request, struct outcome *outcome) {
  int fd = open(request->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) child_fail_errno(outcome, "cannot open the folder");
  list.limit = request->limit;
  list_folder(fd, request->depth > 0 ? request->depth : 1, outcome);
  send_lines(outcome);
  child_succeed(outcome, list.truncated ? "{\"truncated\":true}" : "{\"truncated\":false}");
}
