// The root is in memory and read-only. In it are, under the paths that they have outside, what the caller has named, read-only, the VM's
// folder, and one device. There is no /proc and no /sys: what it could learn from them concerns others.
#define _GNU_SOURCE
#include "jail.h"
#include "fail.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// Where the new root is made. Nothing that is bound comes from here.
static const char PLACE[] = "/sys";

// The path below the new root, which is the working directory, with the folders above it.
static void make_parents(const char *path, char target[PATH_MAX]) {
  if (*path != '/' || strlen(path) > PATH_MAX) {
    errno = EINVAL;
    fail("not an absolute path:", path);
  }
  strcpy(target, path + 1);
  for (char *end = target; (end = strchr(end, '/')); *end++ = '/') {
    *end = 0;
    if (*target && mkdir(target, 0755) && errno != EEXIST) fail("make", target);
  }
}

static void bind_path(const char *path, unsigned long flags) {
  char target[PATH_MAX];
  struct stat found;
  if (stat(path, &found)) fail("find", path);
  make_parents(path, target);
  if (S_ISDIR(found.st_mode)) {
    if (mkdir(target, 0755) && errno != EEXIST) fail("make", path);
  } else {
    int fd = open(target, O_RDONLY | O_CREAT | O_CLOEXEC, 0444);
    if (fd < 0) fail("make", path);
    close(fd);
  }
  if (mount(path, target, NULL, MS_BIND, NULL)) fail("bind", path);
  if (mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | flags, NULL)) fail("protect", path);
}

// Without udev the machine's node is root's alone, and a group that may open it may open other devices, too.
static void make_device(const char *device, unsigned uid) {
  char target[PATH_MAX];
  struct stat found;
  if (stat(device, &found)) fail("find", device);
  if (!S_ISCHR(found.st_mode)) {
    errno = ENODEV;
    fail("not a character device:", device);
  }
  make_parents(device, target);
  if (mknod(target, S_IFCHR | 0600, found.st_rdev) || chown(target, uid, uid)) fail("make", device);
}

// QEMU finds out with it how files can be locked; without it the disks of a VM would not be.
static void make_null(void) {
  char target[PATH_MAX];
  make_parents("/dev/null", target);
  // In a container that may make no devices it does without.
  if (mknod(target, S_IFCHR | 0666, makedev(1, 3)) && errno != EPERM) fail("make", "/dev/null");
}

// The machine's file system goes out of reach, and with it what it would keep from being unmounted.
static void change_root(void) {
  if (syscall(SYS_pivot_root, ".", ".") == 0) {
    if (umount2(".", MNT_DETACH)) fail("leave", "the machine's root");
  } else if (errno != EINVAL || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".")) {
    // In a chroot it cannot be changed, and is covered instead.
    fail("change", "the root");
  }
}

// Up to the root of the namespace, out of the chroot that this machine's processes may live in. It is undone by going back to `root`.
static void leave_chroot(int root) {
  struct stat here, above;
  if (chroot(PLACE) || fchdir(root)) fail("leave", "the chroot");
  do {
    if (stat(".", &here) || chdir("..") || stat(".", &above)) fail("leave", "the chroot");
  } while (here.st_ino != above.st_ino || here.st_dev != above.st_dev);
  if (chroot(".")) fail("leave", "the chroot");
}

void separate_mounts(void) {
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0) return;
  // In a chroot: its root is no mount, and the one that it lies in has no name there.
  int root = errno == EINVAL ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (root < 0) fail("separate", "mounts");
  leave_chroot(root);
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)) fail("separate", "mounts");
  if (fchdir(root) || chroot(".")) fail("return to", "the chroot");
  close(root);
}

void enter_jail(const struct jail *jail) {
  mode_t mask = umask(0);
  separate_mounts();
  if (mount("skerry", PLACE, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=4k")) fail("make", "a root");
  if (chdir(PLACE)) fail("enter", "the new root");
  for (size_t i = 0; i < jail->read_count; i++) bind_path(jail->reads[i], MS_RDONLY);
  if (jail->folder) bind_path(jail->folder, MS_NOEXEC);
  make_null();
  if (jail->device) make_device(jail->device, jail->uid);
  if (mount(NULL, ".", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL)) fail("protect", "the new root");
  change_root();
  const char *folder = jail->folder ? jail->folder : "/";
  if (chdir(folder)) fail("enter", folder);
  umask(mask);
}
