#include "attributes.h"
#include "json.h"

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

static const char prefix[] = "user.";
enum { PREFIX_BYTES = sizeof prefix - 1, NAMES_BYTES = 64 * 1024 }; // as many as the kernel tells of one file

// The length of a value that is text, which then ends with NUL; less than 0 for another one. `room` is without the NUL.
static ssize_t read_text(char *value, size_t room, const char *path, const char *name, bool follow) {
  ssize_t length = follow ? getxattr(path, name, value, room) : lgetxattr(path, name, value, room);
  if (room == 0 || length < 0 || memchr(value, '\0', (size_t)length)) return -1;
  value[length] = '\0';
  return length;
}

size_t attributes_quote(char *to, const char *path, bool follow) {
  static char names[NAMES_BYTES], value[ATTRIBUTES_BYTES + 1];
  size_t used = 0, left = ATTRIBUTES_BYTES;
  ssize_t bytes = follow ? listxattr(path, names, sizeof names) : llistxattr(path, names, sizeof names);
  for (const char *name = names; bytes > 0 && name < names + bytes; name += strlen(name) + 1) {
    size_t length = strlen(name);
    if (strncmp(name, prefix, PREFIX_BYTES) != 0 || length == PREFIX_BYTES || length > left) continue;
    ssize_t value_bytes = read_text(value, left - length, path, name, follow);
    if (value_bytes < 0) continue;
    left -= length + (size_t)value_bytes;
    to[used] = used == 0 ? '{' : ',';
    used++;
    used += json_quote(to + used, name + PREFIX_BYTES);
    to[used++] = ':';
    used += json_quote(to + used, value);
  }
  if (used > 0) to[used++] = '}';
  to[used] = '\0';
  return used;
}

bool attributes_set(int fd, char *const *attributes) {
  for (; *attributes; attributes++) {
    char name[PREFIX_BYTES + ATTRIBUTE_NAME_MAX_BYTES + 1];
    const char *value = strchr(*attributes, '=') + 1;
    snprintf(name, sizeof name, "%s%.*s", prefix, (int)(value - 1 - *attributes), *attributes);
    if (fsetxattr(fd, name, value, strlen(value), 0) != 0) return false;
  }
  return true;
}

bool attributes_clear(int fd) {
  static char names[NAMES_BYTES];
  ssize_t bytes = flistxattr(fd, names, sizeof names);
  for (const char *name = names; bytes > 0 && name < names + bytes; name += strlen(name) + 1) {
    if (strncmp(name, prefix, PREFIX_BYTES) == 0 && fremovexattr(fd, name) != 0) return false;
  }
  return true;
}
