// Machines that need attention, in `skerry status`.

import type { Machine } from "@skerry/contract/machines/machine";
import { askControl } from "./ask-control.ts";
import type { StatusRow } from "./status-row.ts";
import type { Layout } from "./system/layout.ts";

const SHOWN = 5;

/** A machine with several troubles is shown with the first of these. */
const troubles = {
  "crash loop": "crash_loop=true",
  unhealthy: "unhealthy=true",
  failed: "status=failed",
} as const;

/** None where all are well, and where control does not tell, for example a user without a token. */
export async function machineRows(layout: Layout): Promise<StatusRow[]> {
  const states = Object.entries(troubles);
  const found = await Promise.all(
    states.map(async ([state, filter]) => {
      const answer = await askControl(layout, `/v1/machines?${filter}&limit=${SHOWN}`);
      const items = answer === undefined ? [] : (JSON.parse(answer) as { readonly items: Machine[] }).items;
      return items.map((machine) => ({ state, machine }));
    }),
  );
  const seen = new Set<string>();
  return found.flat().flatMap(({ state, machine }) => {
    if (seen.has(machine.id)) return [];
    seen.add(machine.id);
    return [machineRow(state, machine)];
  });
}

export function machineRow(state: string, { id, name, reason, health }: Machine): StatusRow {
  const why = (state === "unhealthy" ? health?.reason : reason) ?? "the reason is not known";
  const called = name ?? id;
  return {
    what: `machine ${called}`,
    state,
    detail: `${why}; \`skerry machine logs ${called}\` has its output`,
  };
}
