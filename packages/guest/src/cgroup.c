#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A process of a fork bomb costs about 135 KiB of kernel and page tables; more than one for each 256 KiB of
// memory starve the machine before the kernel's out-of-memory killer sees a reason to act.
enum { RESERVED_KIB = 32 * 1024, KIB_PER_PROCESS = 256, GROUPS_MAX = 4096 };

// What a single command may not use of what all may: files in memory stay when their writer has been killed,
// and the next command needs room to remove them.
enum { SLACK_KIB = 12 * 1024 };

static char command_limit[32]; // "" for none
static int64_t command_limit_bytes;
static int run_fd = -1, files_fd = -1;
static uint32_t last_number, left_over;
static struct cgroup spare = {.fd = -1};

static bool write_at(int folder, const char *name, const char *text) {
  int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t written = write(fd, text, strlen(text));
  close(fd);
  return written == (ssize_t)strlen(text);
}

static bool read_at(int folder, const char *name, char *text, size_t size) {
  int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got = read(fd, text, size - 1);
  close(fd);
  text[got > 0 ? got : 0] = '\0';
  return got > 0;
}

static int64_t number_after(const char *text, const char *key) {
  const char *found = strstr(text, key);
  return found ? strtoll(found + strlen(key), NULL, 10) : 0;
}

// Commands together may use all memory but the agent's share: then the kernel's victim is one of them. (It
// never picks PID 1 itself.) Likewise a fork bomb leaves room for the processes that end it.
static void limit_run(void) {
  char text[2048], limit[32];
  int64_t processes = INT32_MAX;
  if (read_at(AT_FDCWD, "/proc/meminfo", text, sizeof text)) {
    processes = number_after(text, "MemTotal:") / KIB_PER_PROCESS;
    int64_t kib = number_after(text, "MemAvailable:") - RESERVED_KIB;
    snprintf(limit, sizeof limit, "%lld", (long long)kib * 1024);
    if (kib > RESERVED_KIB) {
      write_at(run_fd, "memory.max", limit);
      command_limit_bytes = (kib - SLACK_KIB) * 1024;
      snprintf(command_limit, sizeof command_limit, "%lld", (long long)command_limit_bytes);
    }
  }
  if (read_at(AT_FDCWD, "/proc/sys/kernel/threads-max", text, sizeof text)) {
    int64_t most = strtoll(text, NULL, 10) * 9 / 10;
    if (most < processes) processes = most;
  }
  snprintf(limit, sizeof limit, "%lld", (long long)processes);
  write_at(run_fd, "pids.max", limit);
  snprintf(limit, sizeof limit, "%d", GROUPS_MAX);
  write_at(run_fd, "cgroup.max.descendants", limit);
}

static int make_at(int folder, const char *name) {
  if (mkdirat(folder, name, 0755) != 0 && errno != EEXIST) return -1;
  return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cgroup_start(const char *root) {
  int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_fd < 0) return;
  static const char *const controllers[] = {"+memory", "+pids", "+cpu"};
  for (int i = 0; i < 3; i++) write_at(root_fd, "cgroup.subtree_control", controllers[i]);
  run_fd = make_at(root_fd, "run");
  close(root_fd);
  if (run_fd < 0) return;
  for (int i = 0; i < 3; i++) write_at(run_fd, "cgroup.subtree_control", controllers[i]);
  limit_run();
  files_fd = make_at(run_fd, "files");
}

int cgroup_open_pressure(void) {
  return run_fd < 0 ? -1 : openat(run_fd, "memory.pressure", O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

bool cgroup_is_choked(void) {
  char text[4096];
  if (command_limit_bytes == 0 || !read_at(run_fd, "memory.current", text, sizeof text)) return false;
  int64_t kept = strtoll(text, NULL, 10);
  if (!read_at(run_fd, "memory.stat", text, sizeof text)) return false;
  kept -= number_after(text, "\nactive_file ") + number_after(text, "\ninactive_file ");
  return kept > command_limit_bytes / 16 * 15;
}

int cgroup_of_files(void) {
  return files_fd;
}

void cgroup_prepare(void) {
  if (run_fd < 0 || spare.fd >= 0) return;
  char name[16];
  snprintf(name, sizeof name, "%u", ++last_number);
  spare = (struct cgroup){.fd = make_at(run_fd, name), .number = last_number};
  if (spare.fd >= 0 && command_limit[0]) write_at(spare.fd, "memory.max", command_limit);
}

struct cgroup cgroup_take(void) {
  cgroup_prepare();
  struct cgroup taken = spare;
  spare.fd = -1;
  return taken;
}

void cgroup_kill(const struct cgroup *group) {
  if (group->fd >= 0) write_at(group->fd, "cgroup.kill", "1");
}

bool cgroup_usage(const struct cgroup *group, struct cgroup_usage *usage) {
  char text[1024];
  if (group->fd < 0 || !read_at(group->fd, "cpu.stat", text, sizeof text)) return false;
  usage->cpu_ms = number_after(text, "usage_usec ") / 1000;
  if (!read_at(group->fd, "memory.peak", text, sizeof text)) return false;
  usage->memory_peak_bytes = strtoll(text, NULL, 10);
  usage->oom_killed =
      read_at(group->fd, "memory.events", text, sizeof text) && number_after(text, "oom_kill ") > 0;
  return true;
}

void cgroup_release(struct cgroup *group) {
  if (group->fd < 0) return;
  char name[16];
  snprintf(name, sizeof name, "%u", group->number);
  close(group->fd);
  group->fd = -1;
  if (unlinkat(run_fd, name, AT_REMOVEDIR) != 0) left_over++;
}

bool cgroup_sweep_is_due(void) {
  return left_over > 0;
}

void cgroup_sweep(bool (*in_use)(uint32_t number)) {
  int fd = openat(run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) {
    if (fd >= 0) close(fd);
    return;
  }
  left_over = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    uint32_t number = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (number == 0 || in_use(number) || (spare.fd >= 0 && number == spare.number)) continue;
    if (unlinkat(run_fd, entry->d_name, AT_REMOVEDIR) != 0) left_over++;
  }
  closedir(folder);
}

void cgroup_kill_all(void) {
  if (run_fd >= 0) write_at(run_fd, "cgroup.kill", "1");
}

bool cgroup_is_empty(void) {
  char text[256];
  return run_fd < 0 || !read_at(run_fd, "cgroup.events", text, sizeof text) || strstr(text, "populated 0");
}
