/** Kept back from VMs for the system, PostgreSQL and ourselves: this much, or a tenth of a large machine. */
const RESERVE_MIB = 1_536;

/** Memory that VMs may use on a machine with this much, in MiB. */
export function memoryForVmsMib(totalBytes: number): number {
  const totalMib = Math.floor(totalBytes / 1024 / 1024);
  return Math.max(0, totalMib - Math.max(RESERVE_MIB, Math.floor(totalMib / 10)));
}
