// The user is looked up when a command begins, in the files of the root file system as they are then. They may be anything: the child alone reads
// them.
#include "user.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// NAME, UID, NAME:GROUP or UID:GID; empty for root.
static char configured_user[USER_BYTES], configured_workdir[PATH_MAX];

void user_keep(const struct request *configure) {
  if (configure->user) snprintf(configured_user, sizeof configured_user, "%s", configure->user);
  if (configure->workdir) snprintf(configured_workdir, sizeof configured_workdir, "%s", configure->workdir);
}

static bool is_number(const char *text, unsigned *value) {
  char *end;
  errno = 0;
  unsigned long number = strtoul(text, &end, 10);
  *value = (unsigned)number;
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && number < UINT_MAX;
}

static void enter_folder(const char *workdir, const char *home, struct outcome *outcome) {
  if (!workdir && chdir(home) != 0 && chdir("/") != 0) child_fail_errno(outcome, "no root folder");
  if (!workdir || chdir(workdir) == 0) return;
  if (errno == EACCES || errno == EPERM) child_fail_errno(outcome, "cannot enter the workdir");
  child_fail(outcome, "workdir_not_found", "the workdir is not a folder in the VM");
}

static void become(uid_t uid, gid_t gid, const char *name, struct outcome *outcome) {
  int grouped = name ? initgroups(name, gid) : setgroups(0, NULL);
  if (grouped != 0 || setgid(gid) != 0 || setuid(uid) != 0) child_fail_errno(outcome, "cannot become the user");
}

char *const *user_enter(const struct request *request, struct outcome *outcome) {
  static char home[PATH_MAX + 8] = "HOME=/root", user[USER_BYTES + 8] = "USER=root", login[USER_BYTES + 11] = "LOGNAME=root";
  static char shell[PATH_MAX + 8];
  static char *env[] = {home, user, login, NULL, NULL};
  const char *workdir = request->workdir;
  if (!workdir && !request->user && *configured_workdir) workdir = configured_workdir;
  const char *asked = request->user ? request->user : configured_user;
  char name[USER_BYTES], *group;
  if (*asked == '\0') {
    enter_folder(workdir, "/root", outcome);
    return env;
  }
  strcpy(name, asked); // `operations.c` has bounded it
  if ((group = strchr(name, ':'))) *group++ = '\0';
  unsigned uid = 0, gid = 0;
  bool by_number = is_number(name, &uid);
  struct passwd *entry = by_number ? getpwuid(uid) : getpwnam(name);
  if (!entry && !by_number) child_fail(outcome, "user_not_found", "the user is not in /etc/passwd");
  if (entry) {
    uid = entry->pw_uid;
    gid = entry->pw_gid;
    snprintf(home, sizeof home, "HOME=%s", *entry->pw_dir ? entry->pw_dir : "/");
    snprintf(user, sizeof user, "USER=%s", entry->pw_name);
    // Login programs set it. Without it bash looks its user up in /etc/passwd.
    snprintf(shell, sizeof shell, "SHELL=%s", entry->pw_shell);
    if (*entry->pw_shell) env[3] = shell;
  } else {
    strcpy(home, "HOME=/");
    snprintf(user, sizeof user, "USER=%s", name);
  }
  snprintf(login, sizeof login, "LOGNAME=%s", user + strlen("USER="));
  if (group && !is_number(group, &gid)) {
    struct group *found = getgrnam(group);
    if (!found) child_fail(outcome, "user_not_found", "the group is not in /etc/group");
    gid = found->gr_gid;
  }
  enter_folder(workdir, home + strlen("HOME="), outcome);
  if (request->tty && fchown(0, uid, (gid_t)-1) != 0) child_fail_errno(outcome, "cannot give it its terminal");
  become(uid, gid, entry && !group ? user + strlen("USER=") : NULL, outcome);
  // Root has entered the folder. Where the request names both, the user must have the right to.
  if (request->user && request->workdir && chdir(".") != 0) child_fail_errno(outcome, "cannot enter the workdir");
  return env;
}
