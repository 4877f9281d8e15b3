// Cursors of a followed log: a time, and how far the log of each instance was read that ran then. An instance
// that is not named began later, or had ended and been read by then. Clients add places of lines that came
// after; the last one of an instance counts.

import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import { PLACE } from "./log-place.ts";

export interface LogCursor {
  readonly atMs: number;
  /** Places by ids of machines. */
  readonly places: ReadonlyMap<string, string>;
}

export function formatCursor({ atMs, places }: LogCursor): string {
  return [String(atMs), ...[...places].map(([machine, place]) => `${machine}:${place}`)].join(",");
}

/** Throws `bad_request`. */
export function parseCursor(text: string): LogCursor {
  const [time = "", ...named] = text.split(",");
  if (!/^\d{1,14}$/.test(time)) throw noCursor();
  const places = named.map((one) => {
    const [machine = "", place = "", ...rest] = one.split(":");
    if (!isId("machine", machine) || !PLACE.test(place) || rest.length > 0) throw noCursor();
    return [machine, place] as const;
  });
  return { atMs: Number(time), places: new Map(places) };
}

function noCursor(): SkerryError {
  return new SkerryError("bad_request", `"after" is no cursor of this log.`, {
    remediation: "Send the `cursor` of a `synced`, and for each later line `,MACHINE_ID:POSITION`.",
    context: { field: "after" },
  });
}
