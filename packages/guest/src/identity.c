#include "identity.h"
#include "boot.h"
#include "hosts.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A list of what is not to be reached has some megabytes. A larger file stays as it is.
enum { HOSTS_MAX_BYTES = 16 << 20, HOSTNAME_MAX_BYTES = 256 };

static void write_hostname(const char *name) {
  char text[HOSTNAME_MAX_BYTES];
  snprintf(text, sizeof text, "%s\n", name);
  write_file("/etc/hostname", text);
}

// Reads a plain file; a larger one gives no text.
static struct text read_text(const char *path, size_t max_bytes, int flags) {
  struct text text = {0};
  struct stat status;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
  bool is_file = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size <= max_bytes;
  size_t room = is_file ? (size_t)status.st_size : 0;
  if (is_file) text.bytes = malloc(room + 1);
  while (text.bytes && text.length < room) {
    ssize_t got = read(fd, text.bytes + text.length, room - text.length);
    if (got <= 0) break;
    text.length += (size_t)got;
  }
  if (text.bytes) text.bytes[text.length] = '\0';
  if (fd >= 0) close(fd);
  return text;
}

// Reads the name in /etc/hostname; empty where there is none.
static void read_hostname(char name[HOSTNAME_MAX_BYTES], int flags) {
  struct text text = read_text("/etc/hostname", HOSTNAME_MAX_BYTES - 1, flags);
  strcpy(name, "");
  if (text.bytes) sscanf(text.bytes, "%255s", name);
  free(text.bytes);
}

static void rewrite(struct text hosts, const char *const former[2], const char *name, bool complete) {
  struct text renamed = hosts_renamed(hosts, former, name, complete);
  if (renamed.bytes) write_bytes("/etc/hosts", renamed.bytes, renamed.length);
  free(renamed.bytes);
  free(hosts.bytes);
}

static bool is_too_large(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > HOSTS_MAX_BYTES;
}

// A link is followed, for nothing is mounted yet at which that could hang, and becomes a plain file.
void identity_start(const char *name) {
  char former[HOSTNAME_MAX_BYTES];
  read_hostname(former, 0);
  write_hostname(name);
  if (is_too_large("/etc/hosts")) return;
  rewrite(read_text("/etc/hosts", HOSTS_MAX_BYTES, 0), (const char *const[]){former, former}, name, true);
}

void identity_rename(const char *former, const char *name) {
  char written[HOSTNAME_MAX_BYTES];
  read_hostname(written, O_NOFOLLOW);
  write_hostname(name);
  struct text hosts = read_text("/etc/hosts", HOSTS_MAX_BYTES, O_NOFOLLOW);
  if (hosts.bytes) rewrite(hosts, (const char *const[]){former, written}, name, false);
}
