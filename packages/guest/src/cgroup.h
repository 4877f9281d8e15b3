// One cgroup per command, so that a timeout kills every descendant and the command's use can be told.
#ifndef SKERRY_CGROUP_H
#define SKERRY_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
  int fd; // the folder, or -1: there are no cgroups here, and a kill reaches the process group only
  uint32_t number;
};

struct cgroup_usage {
  int64_t cpu_ms, memory_peak_bytes;
  bool oom_killed;
};

void cgroup_start(const char *root);
int cgroup_open_pressure(void); // the kernel's account of what the commands' memory makes them wait for, or -1
bool cgroup_is_choked(void);    // hardly any of the commands' memory could be freed, and it is near its limit
int cgroup_of_files(void);      // where file operations run, or -1
struct cgroup cgroup_take(void);
void cgroup_kill(const struct cgroup *group);
bool cgroup_usage(const struct cgroup *group, struct cgroup_usage *usage);
void cgroup_release(struct cgroup *group); // removed now, or by a later sweep when its last process has gone
void cgroup_prepare(void);                 // makes the next command's cgroup while the agent is idle
bool cgroup_sweep_is_due(void);
void cgroup_sweep(bool (*in_use)(uint32_t number));
void cgroup_kill_all(void);
bool cgroup_is_empty(void);

#endif
