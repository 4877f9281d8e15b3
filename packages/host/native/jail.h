// A root of its own for the process that becomes QEMU.
#pragma once
#include <stddef.h>

struct jail {
  const char *folder; // the VM's, which it may change; NULL for none
  const char *device; // it gets a node of its own for it; NULL for none
  unsigned uid;
  const char *const *reads; // what it may read, below the same paths
  size_t read_count;
};

// To be called in a mount namespace of its own. The working directory is the VM's folder afterwards.
void enter_jail(const struct jail *jail);

// To be called in a mount namespace of its own. Its mounts become slaves: what is unmounted outside is not kept from here, and nothing from
// here gets out. The working directory is lost where this machine's processes live in a chroot.
void separate_mounts(void);
