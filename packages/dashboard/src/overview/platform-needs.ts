// Things that an operator should look at: disks of hosts, images of built-in templates, backups. Pure.

import type { Host } from "@skerry/sdk";
import { durationText } from "../ui/text.ts";
import type { Need } from "./need.ts";

const DISK_FREE_MIN = 0.1;
/** A timer that makes one each day may be late. */
const BACKUP_MAX_MS = 25 * 60 * 60_000;

export function diskNeeds(hosts: readonly Host[]): readonly Need[] {
  return hosts.flatMap((host): readonly Need[] => {
    const { name, status, usage } = host;
    if (usage === null || usage.disk_bytes === 0) return [];
    const free = usage.disk_free_bytes / usage.disk_bytes;
    if (free >= DISK_FREE_MIN) return [];
    const text = `${Math.floor(free * 100)} % of its disk is free`;
    return [{ kind: "host", of: host, name, status, text, to: `/hosts?status=${status}` }];
  });
}

/** Each name once, however many hosts fail at it. An image that is tried again has failed all the same. */
export function templateNeeds(hosts: readonly Host[]): readonly Need[] {
  const failing = new Map<string, { readonly reason: string; readonly hosts: string[] }>();
  for (const host of hosts)
    for (const { name, status, failure } of host.templates) {
      if (status !== "failed" && failure == null) continue;
      const known = failing.get(name);
      if (known === undefined)
        failing.set(name, { reason: failure?.reason ?? "its host does not say why", hosts: [host.name] });
      else known.hosts.push(host.name);
    }
  return [...failing].map(
    ([
      name,
      {
        reason,
        hosts: [first = "", ...others],
      },
    ]) => {
      const where = others.length === 0 ? first : `${first} and ${others.length} more`;
      const text = `its image could not be made on ${where}: ${reason}`;
      return { kind: "template", name, status: "failed", text, to: `/templates/${encodeURIComponent(name)}` };
    },
  );
}

/** Where there never was one, an operator may have another way. */
export function backupNeed(lastBackup: string | null, nowMs: number): readonly Need[] {
  if (lastBackup === null) return [];
  const ageMs = nowMs - Date.parse(lastBackup);
  if (ageMs <= BACKUP_MAX_MS) return [];
  const text = `the last one is ${durationText(ageMs)} old`;
  return [{ kind: "backup", name: "skerry backup", status: "late", text, to: null }];
}
