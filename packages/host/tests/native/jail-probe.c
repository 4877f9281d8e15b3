// Takes QEMU's place in its jail and says what it can do there, one line each.
//
//   jail-probe PID PATH...   a process and files of the machine that must be out of its reach
//
// It looks at everything that it can name: each path below the root, each file descriptor but the first three, each family of sockets, each system call.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 2048, FAMILIES = 64, LAST_CALL = 511 };

static void try_file(const char *path, const struct statx *found) {
  int reading = open(path, O_RDONLY | O_NONBLOCK), writing = open(path, O_WRONLY | O_NONBLOCK);
  const char *kind = S_ISCHR(found->stx_mode) ? "device" : S_ISSOCK(found->stx_mode) ? "socket" : "file";
  if (reading >= 0 || writing >= 0) printf("open %s %s:%s%s\n", kind, path, reading >= 0 ? " read" : "", writing >= 0 ? " write" : "");
  close(reading);
  close(writing);
}

static void try_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) printf("connect %s\n", path);
  *address.sun_path = 0; // the same name where there are no files
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) printf("connect @%s\n", path);
  close(fd);
}

static void try_create(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/probe", folder);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%.90s/probe", folder);
  if (open(path, O_CREAT | O_WRONLY, 0600) >= 0) printf("create file in %s\n", folder);
  if (open(folder, O_TMPFILE | O_WRONLY, 0600) >= 0) printf("create unnamed file in %s\n", folder);
  if (mkdir(path, 0700) == 0) printf("create folder in %s\n", folder);
  if (symlink("/", path) == 0) printf("create link in %s\n", folder);
  if (mknod(path, S_IFCHR | 0600, 0x105) == 0) printf("create device in %s\n", folder);
  if (bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) == 0) printf("create socket in %s\n", folder);
}

// What is mounted is named and not looked into: the caller knows what it has put there.
static void look_at(const char *path, int is_mounted) {
  DIR *folder = opendir(path);
  printf("%s folder %s\n", folder ? "list" : "enter", path);
  try_create(path);
  if (!folder || is_mounted) return;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char inner[PATH_MAX];
    struct statx found;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(inner, sizeof inner, "%s/%s", strcmp(path, "/") ? path : "", entry->d_name);
    if (statx(AT_FDCWD, inner, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &found)) continue;
    if (S_ISDIR(found.stx_mode)) look_at(inner, (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0);
    else try_file(inner, &found);
  }
  closedir(folder);
}

static void list_files(void) {
  for (int fd = 3; fd < FILES; fd++) {
    struct stat found;
    if (fstat(fd, &found)) continue;
    const char *kind = S_ISCHR(found.st_mode) ? "device" : S_ISSOCK(found.st_mode) ? "socket" : S_ISREG(found.st_mode) ? "file" : S_ISFIFO(found.st_mode) ? "pipe" : "folder";
    printf("has %d %s\n", fd, kind);
  }
}

static void try_process(pid_t pid, const char *name) {
  if (kill(pid, 0) == 0 || syscall(SYS_tgkill, pid, pid, 0) == 0) printf("signal %s\n", name);
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) printf("ptrace %s\n", name);
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) printf("pidfd of %s\n", name);
}

static void *nothing(void *argument) { return argument; }

static void try_calls(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0) printf("begin thread\n");
  static const int namespaces[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, 0};
  for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
    long child = syscall(SYS_clone, namespaces[i] | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    if (child > 0) printf("begin process with namespaces %x\n", namespaces[i]), waitpid((pid_t)child, NULL, 0);
  }
  for (int family = 0; family < FAMILIES; family++) {
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    for (int i = 0; i < 4; i++) {
      int fd = socket(family, types[i], 0);
      if (fd >= 0) printf("socket of family %d and type %d\n", family, types[i]), close(fd);
    }
  }
  fflush(stdout);
  for (long call = 0; call <= LAST_CALL; call++) {
    // Those that it cannot come back from. 335 and 336 are the kernel's own way back from probes, and no filter sees them.
    if (call == SYS_exit || call == SYS_exit_group || call == SYS_rt_sigreturn || call == 335 || call == 336) continue;
    errno = 0;
    long result = syscall(call, -1L, -1L, -1L, -1L, -1L, -1L);
    int refused = result == -1 && (errno == EPERM || (errno == ENOSYS && (call == SYS_clone3 || call > SYS_process_mrelease)));
    if (!refused) dprintf(1, "call %ld\n", call);
  }
}

// Of the limit that the test sets.
static void try_to_fill(void) {
  enum { LIMIT = 64 << 20 };
  int disk = open("disk", O_RDWR);
  if (disk < 0) return;
  if (pwrite(disk, "", 1, LIMIT - 1) == 1) printf("write below the limit\n");
  if (pwrite(disk, "", 1, LIMIT) == 1) printf("write beyond the limit\n");
  close(disk);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  try_process(atoi(argv[1]), "the machine's");
  try_process(getpid(), "itself");
  for (int pid = 2; pid < 1000; pid++) try_process(pid, "another");
  for (int i = 2; i < argc; i++) {
    struct statx found = {.stx_mode = S_IFREG};
    statx(AT_FDCWD, argv[i], 0, STATX_BASIC_STATS, &found);
    try_file(argv[i], &found);
    try_connect(argv[i]);
  }
  list_files();
  look_at("/", 0);
  try_to_fill();
  try_calls();
}
