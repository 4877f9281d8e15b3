/** Why a VM ended by itself. `main_exited`: `exit` says how. `out_of_memory`: the guest's kernel killed
 *  the main process for want of memory. `guest_failed`: its agent broke the protocol or fell silent.
 *  `host_failed`: the host could not go on with it. `disk_unreadable`: the host's record of it is damaged;
 *  its files are left as they are, its execution id is not known, and what ran has ended. `not_adopted`:
 *  the same of a record that could not be read, or that a newer version of the host wrote; its QEMU, if
 *  there is one, runs on for that version. */
export const vmCauses = [
  "main_exited",
  "out_of_memory",
  "guest_panicked",
  "guest_shut_down",
  "qemu_ended",
  "guest_failed",
  "host_failed",
  "disk_unreadable",
  "not_adopted",
] as const;
export type VmCause = (typeof vmCauses)[number];
