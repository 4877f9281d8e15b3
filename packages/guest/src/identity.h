// The name of the machine in its files, /etc/hostname and /etc/hosts.
#ifndef SKERRY_IDENTITY_H
#define SKERRY_IDENTITY_H

// At boot. The image may have no such file, and the name in it is that of the machine that the image was made
// on.
void identity_start(const char *name);

// Renames a machine that runs. `former`: its name until now.
void identity_rename(const char *former, const char *name);

#endif
