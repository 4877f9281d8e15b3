// Entries of folders, as lines of JSON: `{name, size, type, mode, modified_ms, owner, group}`, of a link also its `target`, and where it has some its `attributes`.
#ifndef SKERRY_ENTRIES_H
#define SKERRY_ENTRIES_H

#include "attributes.h"
#include "child.h"

#include <limits.h>
#include <sys/stat.h>

enum {
  NAME_BYTES = 33,                                                 // of an owner or a group, with its NUL
  LINE_MAX_BYTES = 2 * (6 * PATH_MAX + 3) + 2 * 6 * NAME_BYTES + ATTRIBUTES_JSON_BYTES + 220, // a path and a target, each byte escaped
};

int64_t modified_ms(const struct stat *stat);
bool write_all(int fd, const char *bytes, size_t length);

// Writes a line to `line`, which has LINE_MAX_BYTES. `folder` and `base`: where a link is to be read. Enters `folder`, if it is one.
size_t entry_line(char *line, const char *name, const struct stat *stat, int folder, const char *base);

// Sends the line of what is at `path`, of a link itself or what it leads to, and ends the child.
noreturn void send_entry(const char *path, bool follow, struct outcome *outcome);

// Enters the folder of `path`, making what is missing, and answers the last name. From there on every path is
// a single name, so no other process can replace a folder of the path.
const char *enter_parent(char *path, struct outcome *outcome);

#endif
