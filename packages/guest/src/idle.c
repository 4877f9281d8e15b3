// Tells whether a process other than the agent is left; the host pauses a guest without one.
#include "boot.h"
#include "child.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000 }; // PF_KTHREAD of the kernel's sched.h

// True for a live user process: neither a kernel thread nor a zombie.
static bool lives(const char *pid) {
  char path[32], text[512];
  if (snprintf(path, sizeof path, "/proc/%s/stat", pid) >= (int)sizeof path) return true;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  // A name may hold anything, also parentheses.
  const char *after_name = strrchr(text, ')');
  char state;
  unsigned flags;
  if (!after_name || sscanf(after_name, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2) return true;
  return state != 'Z' && state != 'X' && !(flags & KERNEL_THREAD);
}

static bool machine_is_empty(void) {
  DIR *processes = opendir("/proc");
  if (!processes) return false;
  bool empty = true;
  for (struct dirent *entry; empty && (entry = readdir(processes));) {
    long pid = strtol(entry->d_name, NULL, 10);
    if (pid > 1 && pid != getpid() && lives(entry->d_name)) empty = false;
  }
  closedir(processes);
  return empty;
}

void idle_child(const struct request *request, struct outcome *outcome) {
  (void)request;
  bool idle = cgroup_is_empty() && (!machine_is_ours || machine_is_empty());
  child_succeed(outcome, idle ? "{\"idle\":true}" : "{\"idle\":false}");
}
