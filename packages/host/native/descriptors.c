#define _GNU_SOURCE
#include "descriptors.h"
#include "fail.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static bool kept[REPORT_FD + 1];

// Gives a file the number under which QEMU's command line knows it.
void keep(int fd, int as, const char *what) {
  if (dup2(fd, as) < 0) fail("dup", what);
  if (fd != as) close(fd);
  kept[as] = true;
}

// Root owns the folder, so no other user can have put a link there.
void open_log(const char *file) {
  int nothing = open("/dev/null", O_RDWR), log = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
  if (nothing < 0 || dup2(nothing, 0) < 0) fail("open", "/dev/null");
  if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) fail("open", file);
  if (nothing > 2) close(nothing);
  if (log > 2) close(log);
}

void open_for_reading(const char *file, int as) {
  int fd = open(file, O_RDONLY);
  if (fd < 0) fail("open", file);
  keep(fd, as, file);
}

void open_tap(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
  if (strlen(name) >= sizeof request.ifr_name) {
    errno = ENAMETOOLONG;
    fail("TAP", name);
  }
  strcpy(request.ifr_name, name);
  int fd = open("/dev/net/tun", O_RDWR);
  if (fd < 0) fail("open", "/dev/net/tun");
  if (ioctl(fd, TUNSETIFF, &request)) fail("attach TAP", name);
  keep(fd, TAP_FD, name);
}

// QEMU itself listens on it once it is ready; until then connections are refused.
void bind_socket(const char *name, int as) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail("socket", name);
  }
  strcpy(address.sun_path, name);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  mode_t mask = umask(0177);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)) fail("bind", name);
  umask(mask);
  keep(fd, as, name);
}

// Starts the program that keeps what QEMU says on the console. It outlives this host's processes and ends
// with QEMU, which is not its parent, because QEMU expects no children.
void start_console(const char *program, const char *file, const char *uid) {
  int ends[2], log = open(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (log < 0) fail("open", file);
  if (access(program, X_OK)) fail("run", program);
  if (pipe(ends)) fail("pipe for", file);
  pid_t child = fork();
  if (child < 0) fail("fork for", file);
  if (child == 0) {
    if (fork() != 0) _exit(0);
    setsid();
    if (dup2(ends[0], 0) < 0 || dup2(log, 1) < 0 || syscall(SYS_close_range, 3, ~0U, 0)) _exit(FAILED);
    execl(program, program, uid, NULL);
    _exit(FAILED);
  }
  waitpid(child, NULL, 0);
  close(log);
  close(ends[0]);
  keep(ends[1], CONSOLE_FD, file);
}

void close_others(void) {
  for (int fd = STATE_FD; fd <= REPORT_FD; fd++) {
    if (!kept[fd]) close(fd);
  }
  // A raw call: older C libraries have no wrapper.
  if (syscall(SYS_close_range, REPORT_FD + 1, ~0U, 0)) fail("close", "inherited files");
}

