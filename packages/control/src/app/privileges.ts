import type { RunAs } from "./config.ts";

/** Gives root away for good: groups first, because only root may change them. */
export function dropPrivileges(runAs: RunAs | undefined): void {
  if (runAs === undefined || process.getuid?.() !== 0) return;
  process.setgroups?.([runAs.gid]);
  process.setgid?.(runAs.gid);
  process.setuid?.(runAs.uid);
}
