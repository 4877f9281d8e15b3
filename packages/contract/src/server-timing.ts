// The header `Server-Timing` (https://www.w3.org/TR/server-timing/): where the time of a call went. Creations and commands have it, so that a
// client can tell what it has waited for; and the host's start and snapshot of a VM, which control passes on.

/** `place`: a host was chosen and room on it reserved. `freeze`: the first use of a size had its template frozen on that host. `start`: the
 *  host made the VM, or took the command into it, once it was free to. `run`: the command itself. `still`: the guest stood still for a
 *  snapshot. */
export const timingPhases = ["place", "freeze", "start", "run", "still"] as const;
export type TimingPhase = (typeof timingPhases)[number];

/** Milliseconds of each phase that there was. */
export type Timing = { readonly [Phase in TimingPhase]?: number };

export const SERVER_TIMING = "server-timing";

/** `place;dur=2.4, start;dur=11.9` */
export function formatTiming(timing: Timing): string {
  return timingPhases
    .flatMap((phase) => {
      const ms = timing[phase];
      return ms === undefined ? [] : [`${phase};dur=${Math.round(ms * 10) / 10}`];
    })
    .join(", ");
}

const METRIC = /^([a-z]{1,20});dur=(\d{1,9}(?:\.\d{1,9})?)$/;
const HEADER_MAX_CHARS = 1_000;

/** What it tells of the phases that are known here; a proxy may have added others. */
export function parseTiming(header: string | null | undefined): Timing {
  const found: { [Phase in TimingPhase]?: number } = {};
  for (const text of (header ?? "").slice(0, HEADER_MAX_CHARS).split(",")) {
    const [, name, ms] = METRIC.exec(text.trim()) ?? [];
    const phase = timingPhases.find((one) => one === name);
    if (phase !== undefined) found[phase] = Number(ms);
  }
  return found;
}
