import type { Template } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { may } from "../session.ts";

export interface Dependent {
  readonly noun: "sandbox" | "machine" | "snapshot";
  readonly id: string;
  readonly name: string | null;
}

interface Dependents {
  readonly items: readonly Dependent[];
  readonly hasMore: boolean;
}

/** Of each kind. */
const SHOWN_MAX = 20;
const SNAPSHOTS_READ = 500;

/** What keeps a template from being deleted, as far as the session may read it. */
export async function readDependents(
  { id, name, build_id }: Template,
  signal: AbortSignal,
): Promise<Dependents> {
  // What is built in is kept by its name.
  const template = build_id === null ? name : id;
  const none = { items: [], next_cursor: null };
  const [sandboxes, machines, snapshots] = await Promise.all([
    may("sandboxes:read")
      ? skerry.sandboxes.page({ template, alive: true, limit: SHOWN_MAX }, { signal })
      : none,
    may("machines:read")
      ? skerry.machines.page({ template, alive: true, limit: SHOWN_MAX }, { signal })
      : none,
    may("sandboxes:read") || may("machines:read")
      ? skerry.snapshots.page({ limit: SNAPSHOTS_READ }, { signal })
      : none,
  ]);
  const own = snapshots.items.filter((one) => one.template === template);
  return {
    items: [
      ...sandboxes.items.map((one) => ({ noun: "sandbox" as const, id: one.id, name: one.info.name })),
      ...machines.items.map((one) => ({ noun: "machine" as const, id: one.id, name: one.name })),
      ...own.map((one) => ({ noun: "snapshot" as const, id: one.id, name: one.name })),
    ],
    hasMore: [sandboxes, machines, snapshots].some(({ next_cursor: next }) => next !== null),
  };
}
