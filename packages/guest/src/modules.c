#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

// Where the host packs them (templates/kernel-modules.ts).
#define KEPT "/modules/on-demand"

// A real file, not /proc/1/exe: iptables reads the setting and runs what it names, also in a container, where
// PID 1 is another program.
#define PROGRAM "modprobe"

enum { PATH_BYTES = 160, NAME_BYTES = 128, ALIAS_BYTES = 512, PARAMETERS_BYTES = 1024 };

static void folder_path(char *path) {
  struct utsname kernel;
  uname(&kernel);
  snprintf(path, PATH_BYTES, "/lib/modules/%s", kernel.release);
}

int modules_keep(void) {
  int folder = open(KEPT, O_PATH | O_DIRECTORY | O_CLOEXEC);
  // Another name of the agent's file, which takes no memory.
  if (folder >= 0 && link("/init", KEPT "/" PROGRAM) != 0) printf("skerry: modules: %s\n", strerror(errno));
  return folder;
}

// Makes a device file that leads to a driver which is not loaded yet: opening it has the kernel load that.
// The driver finds the file there and keeps it. Modes as udev's rules have them.
static void make_device(const char *name, char type, unsigned major, unsigned minor) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/dev/%s", name);
  for (char *slash = strchr(path + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0755);
    *slash = '/';
  }
  mode_t mode = strcmp(name, "net/tun") == 0 || strcmp(name, "fuse") == 0 ? 0666 : 0600;
  if (mknod(path, mode | (type == 'b' ? S_IFBLK : S_IFCHR), makedev(major, minor)) == 0) chmod(path, mode);
}

static void make_devices(const char *folder) {
  char path[PATH_BYTES + 32], line[256], name[NAME_BYTES], type;
  unsigned major, minor;
  snprintf(path, sizeof path, "%s/modules.devname", folder);
  FILE *devices = fopen(path, "re");
  while (devices && fgets(line, sizeof line, devices)) {
    if (line[0] != '#' && sscanf(line, "%*s %127s %c%u:%u", name, &type, &major, &minor) == 4)
      make_device(name, type, major, minor);
  }
  if (devices) fclose(devices);
}

void modules_offer(int folder) {
  char from[32], to[PATH_BYTES], program[PATH_BYTES + 16];
  if (folder < 0) return;
  snprintf(from, sizeof from, "/proc/self/fd/%d", folder);
  folder_path(to);
  mkdir("/lib", 0755);
  mkdir("/lib/modules", 0755);
  mkdir(to, 0755);
  bool offered = mount(from, to, NULL, MS_BIND, NULL) == 0 &&
                 mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0;
  if (!offered) printf("skerry: %s: %s\n", to, strerror(errno));
  close(folder);
  if (!offered) return;
  snprintf(program, sizeof program, "%s/" PROGRAM, to);
  int setting = open("/proc/sys/kernel/modprobe", O_WRONLY | O_CLOEXEC);
  if (setting < 0 || write(setting, program, strlen(program)) < 0) printf("skerry: modprobe: %s\n", strerror(errno));
  if (setting >= 0) close(setting);
  make_devices(to);
}

bool is_modprobe(const char *name) {
  const char *slash = name ? strrchr(name, '/') : NULL;
  return slash && strcmp(slash + 1, PROGRAM) == 0;
}

// The kernel takes both characters for the same.
static void normalize(char *name) {
  for (; *name; name++) {
    if (*name == '-') *name = '_';
  }
}

static bool insert(const char *file, const char *parameters) {
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool inserted = syscall(SYS_finit_module, fd, parameters, 0) == 0 || errno == EEXIST;
  close(fd);
  return inserted;
}

// Whether `path` is the file of the module `name`, which is normalized.
static bool is_file_of(const char *path, const char *name) {
  char own[NAME_BYTES];
  const char *slash = strrchr(path, '/');
  snprintf(own, sizeof own, "%s", slash ? slash + 1 : path);
  char *ending = strstr(own, ".ko");
  if (ending) *ending = '\0';
  normalize(own);
  return strcmp(own, name) == 0;
}

static bool is_loaded(const char *name) {
  char path[NAME_BYTES + 32];
  snprintf(path, sizeof path, "/sys/module/%s", name);
  return access(path, F_OK) == 0;
}

// Inserts what a line of modules.dep names behind the colon, from its end on, and then the module. Files of
// the modules that were loaded at boot are gone, so a missing one is no failure of its own.
static bool insert_line(char *file, char *needed, const char *parameters) {
  for (char *last; (last = strrchr(needed, ' ')); *last = '\0') insert(last + 1, "");
  return insert(file, parameters);
}

// `name` is normalized.
static bool load(const char *name, const char *parameters) {
  if (is_loaded(name)) return true;
  FILE *list = fopen("modules.dep", "re");
  char *line = NULL;
  size_t capacity = 0;
  bool loaded = false, found = false;
  while (list && !found && getline(&line, &capacity, list) > 0) {
    char *colon = strchr(line, ':');
    if (!colon) continue;
    *colon = '\0';
    if (!(found = is_file_of(line, name))) continue;
    colon[1 + strcspn(colon + 1, "\n")] = '\0';
    loaded = insert_line(line, colon + 1, parameters);
  }
  if (list) fclose(list);
  free(line);
  return loaded;
}

static bool load_by_alias(const char *name, const char *parameters) {
  FILE *list = fopen("modules.alias", "re");
  char line[ALIAS_BYTES], pattern[ALIAS_BYTES], module[NAME_BYTES];
  bool loaded = false;
  while (list && fgets(line, sizeof line, list)) {
    if (sscanf(line, "alias %511s %127s", pattern, module) != 2) continue;
    normalize(pattern);
    normalize(module);
    if (fnmatch(pattern, name, 0) == 0 && load(module, parameters)) loaded = true;
  }
  if (list) fclose(list);
  return loaded;
}

int modprobe(int argc, char **argv) {
  char folder[PATH_BYTES], name[ALIAS_BYTES] = "", parameters[PARAMETERS_BYTES] = "";
  size_t length = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    if (!name[0])
      snprintf(name, sizeof name, "%s", argv[i]);
    else if (length < sizeof parameters)
      length += (size_t)snprintf(parameters + length, sizeof parameters - length, "%s ", argv[i]);
  }
  folder_path(folder);
  if (!name[0] || chdir(folder) != 0) return 1;
  normalize(name);
  return load(name, parameters) || load_by_alias(name, parameters) ? 0 : 1;
}
