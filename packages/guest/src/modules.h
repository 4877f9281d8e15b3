// Modules that the guest's kernel loads when a program first needs one: a network interface of some kind, a
// file system, a rule of iptables. What no program needs takes no time at boot and nothing but the memory of
// its file, which all clones share. The kernel asks by running a program, which is the agent's own file, so
// that images need not have kmod.
#ifndef SKERRY_MODULES_H
#define SKERRY_MODULES_H

#include <stdbool.h>

// Called while the initramfs is the root. Returns a descriptor for modules_offer, or -1 where it holds none.
int modules_keep(void);

// Called in the root that programs see: shows the modules in /lib/modules, has the kernel load from there,
// and makes the device files by which programs ask for a driver.
void modules_offer(int folder);

// Whether the file was started under the name by which the kernel starts it to load a module.
bool is_modprobe(const char *name);

// Loads a module by its name or by an alias, with those that it needs. Arguments as of modprobe, of which
// options are ignored: [OPTIONS] NAME [PARAMETER=VALUE]... Returns the exit status.
int modprobe(int argc, char **argv);

#endif
