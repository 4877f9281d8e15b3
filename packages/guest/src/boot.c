#include "boot.h"
#include "cgroup.h"
#include "copy-tree.h"
#include "identity.h"
#include "modules.h"
#include "thrash.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define GUEST_ADDRESS "169.254.0.21"
#define GUEST_NETMASK "255.255.255.252"
#define GATEWAY_ADDRESS "169.254.0.22"

// What a template is called while it is frozen: as long as what its clones will be called. All code is cold
// in a clone that writes over it, and changing the length of a file took one 5 ms more (emulated, n = 15).
#define TEMPLATE_HOSTNAME "sandbox-0000000000000000000000"
#define TEMPLATE_MACHINE_ID "00000000000000000000000000000000\n"

enum { DEVICE_WAIT_MS = 10000, FILES_SOFT = 16384, FILES_HARD = 1048576 };

bool machine_is_ours = false;

void reset_machine(void) {
  sync();
  reboot(RB_AUTOBOOT);
  for (;;) pause();
}

static noreturn void fail(const char *doing) {
  printf("skerry: boot failed: %s: %s\n", doing, strerror(errno));
  fflush(stdout);
  reset_machine();
}

static void mount_at(const char *type, const char *path, unsigned long flags, const char *options) {
  mkdir(path, 0755);
  if (mount(type, path, type, flags, options) != 0 && errno != EBUSY) fail(path);
}

// Mounts a file system that a kernel of the operator's may lack.
static void mount_optional(const char *type, const char *path) {
  mkdir(path, 0755);
  if (mount(type, path, type, MS_NOSUID | MS_NODEV | MS_NOEXEC, "") != 0 && errno != ENODEV)
    printf("skerry: %s: %s\n", path, strerror(errno));
}

static void load_modules(void) {
  FILE *order = fopen("/modules/order", "re");
  char name[128], path[160];
  while (order && fscanf(order, "%127s", name) == 1) {
    snprintf(path, sizeof path, "/modules/%s%s", name, strstr(name, ".ko") ? "" : ".ko");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST)) fail(path);
    close(fd);
    unlink(path); // the initramfs is memory
  }
  if (order) fclose(order);
}

// Devices appear a moment after their driver.
static bool wait_for(bool (*there)(void *), void *argument) {
  for (int ms = 0; ms < DEVICE_WAIT_MS; ms++) {
    if (there(argument)) return true;
    usleep(1000);
  }
  errno = ETIMEDOUT;
  return false;
}

static bool exists(void *path) {
  return access(path, F_OK) == 0;
}

static bool open_port(void *to) {
  DIR *ports = opendir("/sys/class/virtio-ports");
  char path[300], name[32];
  for (struct dirent *entry; ports && *(int *)to < 0 && (entry = readdir(ports));) {
    snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry->d_name);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%31s", name) == 1 && strcmp(name, "agent") == 0) {
      snprintf(path, sizeof path, "/dev/%s", entry->d_name);
      *(int *)to = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    if (file) fclose(file);
  }
  if (ports) closedir(ports);
  return *(int *)to >= 0;
}

static void enter_root(void) {
  static const char *const moved[][2] = {
      {"/dev", "/root-fs/dev"}, {"/proc", "/root-fs/proc"}, {"/sys", "/root-fs/sys"}};
  if (!wait_for(exists, "/dev/vda")) fail("no disk /dev/vda");
  mkdir("/root-fs", 0755);
  if (mount("/dev/vda", "/root-fs", "ext4", MS_NOATIME, "") != 0) fail("cannot mount /dev/vda");
  for (int i = 0; i < 3; i++) {
    mkdir(moved[i][1], 0755);
    if (mount(moved[i][0], moved[i][1], NULL, MS_MOVE, NULL) != 0) fail(moved[i][1]);
  }
  unlink("/init");
  if (chdir("/root-fs") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0) fail("cannot move the root");
  if (chroot(".") != 0 || chdir("/") != 0) fail("cannot enter the root");
}

static void set_address(int fd, struct ifreq *request, unsigned long what, const char *address) {
  struct sockaddr_in *to = (struct sockaddr_in *)&request->ifr_addr;
  *to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
  if (ioctl(fd, (int)what, request) != 0) printf("skerry: network: %s\n", strerror(errno));
}

static void set_up(int fd, const char *name) {
  struct ifreq request = {0};
  strcpy(request.ifr_name, name);
  if (ioctl(fd, SIOCGIFFLAGS, &request) != 0) return;
  request.ifr_flags |= IFF_UP;
  ioctl(fd, SIOCSIFFLAGS, &request);
}

static void start_network(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "eth0"};
  set_up(fd, "lo");
  if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
    set_address(fd, &request, SIOCSIFADDR, GUEST_ADDRESS);
    set_address(fd, &request, SIOCSIFNETMASK, GUEST_NETMASK);
    set_up(fd, "eth0");
    struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
    *(struct sockaddr_in *)&route.rt_dst = (struct sockaddr_in){.sin_family = AF_INET};
    *(struct sockaddr_in *)&route.rt_genmask = (struct sockaddr_in){.sin_family = AF_INET};
    *(struct sockaddr_in *)&route.rt_gateway =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(GATEWAY_ADDRESS)};
    if (ioctl(fd, SIOCADDRT, &route) != 0) printf("skerry: route: %s\n", strerror(errno));
  }
  close(fd);
}

// What a disk holds was a user's to change: only a plain file is written to. In place, because a fresh file
// and a rename cost a clone that has just woken 30 ms more.
void write_bytes(const char *path, const char *bytes, size_t length) {
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  struct stat stat;
  int fd = open(path, flags, 0644);
  if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
    if (fd >= 0) close(fd);
    unlink(path);
    fd = open(path, flags | O_EXCL, 0644);
    stat.st_size = 0;
  }
  if (fd < 0) return;
  ssize_t written = write(fd, bytes, length);
  if (written >= 0 && written != stat.st_size && ftruncate(fd, written) != 0)
    printf("skerry: %s: %s\n", path, strerror(errno));
  close(fd);
}

void write_file(const char *path, const char *text) {
  write_bytes(path, text, strlen(text));
}

// Makes the links that programs expect and a devtmpfs lacks.
static void make_links(void) {
  static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},        {"/proc/self/fd/0", "/dev/stdin"},
                                         {"/proc/self/fd/1", "/dev/stdout"},  {"/proc/self/fd/2", "/dev/stderr"},
                                         {"/proc/kcore", "/dev/core"},        {"../proc/self/mounts", "/etc/mtab"}};
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    if (symlink(links[i][0], links[i][1]) != 0 && errno != EEXIST) printf("skerry: %s: %s\n", links[i][1], strerror(errno));
  }
}

// A child, because the program that copies changes its root directory and its limits.
static void copy_folder(int from, const char *to) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", from);
  pid_t pid = fork();
  if (pid == 0) _exit(copy_tree("/", path, to, KEEP_OWNERS));
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

// Packages leave folders in /run when they are installed, with owners of their own: they are in the memory
// that hides them, too. What does not fit is missing, and the console says so.
static void mount_run(void) {
  struct stat stat;
  mkdir("/run", 0755);
  int image = open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mount_at("tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755,size=20%");
  if (image >= 0 && fstat(image, &stat) == 0) {
    if (chown("/run", stat.st_uid, stat.st_gid) != 0 || chmod("/run", stat.st_mode & 07777) != 0)
      printf("skerry: /run: %s\n", strerror(errno));
    copy_folder(image, "/run");
  }
  if (image >= 0) close(image);
  mkdir("/run/lock", 0755);
  int lock = open("/run/lock", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0 || fchmod(lock, 01777) != 0) printf("skerry: /run/lock: %s\n", strerror(errno));
  if (lock >= 0) close(lock);
}

// The console's log has what was written, and no carriage returns on top.
static void keep_bytes(int tty) {
  struct termios settings;
  if (tcgetattr(tty, &settings) != 0) return;
  settings.c_oflag &= ~(tcflag_t)OPOST;
  tcsetattr(tty, TCSANOW, &settings);
}

int boot(void) {
  mount_at("devtmpfs", "/dev", MS_NOSUID, "mode=755");
  // Console for the agent's own words. Without these three, pipes would get the numbers 0 to 2.
  int console = open("/dev/console", O_RDWR | O_NOCTTY);
  if (console < 0) console = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; fd++) dup2(console, fd);
  if (console > 2) close(console);
  keep_bytes(0);
  mount_at("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
  mount_at("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
  reboot(RB_DISABLE_CAD);
  load_modules();
  int modules = modules_keep();
  enter_root();
  // A root file system that was built may have none of these.
  mkdir("/etc", 0755);
  if (mkdir("/tmp", 01777) == 0) chmod("/tmp", 01777);
  mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "gid=5,mode=620,ptmxmode=666");
  mount_at("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777,size=50%");
  mount_optional("mqueue", "/dev/mqueue");
  mount_run();
  make_links();
  modules_offer(modules);
  mount_at("cgroup2", "/sys/fs/cgroup", MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
  cgroup_start("/sys/fs/cgroup");
  start_network();
  sethostname(TEMPLATE_HOSTNAME, strlen(TEMPLATE_HOSTNAME));
  identity_start(TEMPLATE_HOSTNAME);
  write_file("/etc/machine-id", TEMPLATE_MACHINE_ID);
  write_file("/etc/resolv.conf", "nameserver " GATEWAY_ADDRESS "\n");
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_SOFT, FILES_HARD});
  machine_is_ours = true;
  thrash_watch();
  int port = -1;
  if (!wait_for(open_port, &port)) fail("no virtio port called agent");
  return port;
}
