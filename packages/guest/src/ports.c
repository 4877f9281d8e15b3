// Tells which TCP ports the guest listens on: where, and which program.
#include "child.h"
#include "json.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  LISTENING = 0x0a,        // TCP_LISTEN of the kernel's tcp_states.h
  LISTENERS_MAX = 1024,    // that are remembered; there are 65,535 ports
  DESCRIPTORS_MAX = 65536, // that are looked at for the names of programs
  NAME_BYTES = 16,         // the kernel's TASK_COMM_LEN
};

static struct listener {
  unsigned long inode;
  unsigned port;
  char address[INET6_ADDRSTRLEN];
  char name[NAME_BYTES];
} listeners[LISTENERS_MAX];
static unsigned count;
static bool truncated;

// The kernel prints an address in words of 32 bits, each as this machine has it in memory.
static bool read_address(const char *hex, int family, char *text) {
  uint32_t words[4];
  unsigned expected = family == AF_INET ? 1 : 4;
  if (strlen(hex) != 8 * expected) return false;
  for (unsigned i = 0; i < expected; i++) {
    char word[9] = {0};
    memcpy(word, hex + 8 * i, 8);
    words[i] = (uint32_t)strtoul(word, NULL, 16);
  }
  return inet_ntop(family, words, text, INET6_ADDRSTRLEN) != NULL;
}

static void read_table(const char *path, int family, unsigned limit) {
  FILE *table = fopen(path, "re");
  char line[512], hex[40];
  if (!table) return; // a kernel without IPv6
  while (fgets(line, sizeof line, table)) {
    unsigned port, state;
    unsigned long inode;
    if (sscanf(line, " %*d: %39[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", hex, &port,
               &state, &inode) != 4 ||
        state != LISTENING) {
      continue;
    }
    truncated = count == LISTENERS_MAX || count == limit;
    if (truncated) break;
    listeners[count] = (struct listener){.inode = inode, .port = port};
    if (read_address(hex, family, listeners[count].address)) count++;
  }
  fclose(table);
}

static void read_name(const char *pid, char name[NAME_BYTES]) {
  char path[32];
  if (snprintf(path, sizeof path, "/proc/%.15s/comm", pid) >= (int)sizeof path) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t length = read(fd, name, NAME_BYTES - 1);
  close(fd);
  name[length > 0 ? length : 0] = '\0';
  name[strcspn(name, "\n")] = '\0';
}

// Answers how many more descriptors may be looked at.
static int name_sockets_of(const char *pid, int left) {
  char path[32];
  if (snprintf(path, sizeof path, "/proc/%.15s/fd", pid) >= (int)sizeof path) return left;
  DIR *descriptors = opendir(path);
  if (!descriptors) return left;
  for (struct dirent *entry; left > 0 && (entry = readdir(descriptors)); left--) {
    char target[64];
    unsigned long inode;
    ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (sscanf(target, "socket:[%lu]", &inode) != 1) continue;
    for (unsigned i = 0; i < count; i++) {
      if (listeners[i].inode == inode && !listeners[i].name[0]) read_name(pid, listeners[i].name);
    }
  }
  closedir(descriptors);
  return left;
}

static void name_programs(void) {
  DIR *processes = opendir("/proc");
  if (!processes) return;
  int left = DESCRIPTORS_MAX;
  for (struct dirent *entry; left > 0 && (entry = readdir(processes));) {
    if (isdigit((unsigned char)entry->d_name[0])) left = name_sockets_of(entry->d_name, left);
  }
  closedir(processes);
}

void ports_child(const struct request *request, struct outcome *outcome) {
  unsigned limit = request->limit < LISTENERS_MAX ? (unsigned)request->limit : LISTENERS_MAX;
  read_table("/proc/net/tcp", AF_INET, limit);
  if (!truncated) read_table("/proc/net/tcp6", AF_INET6, limit);
  if (count > 0) name_programs();
  for (unsigned i = 0; i < count; i++) {
    char name[6 * NAME_BYTES + 3];
    name[json_quote(name, listeners[i].name)] = '\0';
    printf("{\"port\":%u,\"address\":\"%s\",\"process\":%s}\n", listeners[i].port, listeners[i].address, name);
  }
  if (fflush(stdout) != 0) child_fail_errno(outcome, "cannot send the list");
  child_succeed(outcome, truncated ? "{\"truncated\":true}" : "{\"truncated\":false}");
}
