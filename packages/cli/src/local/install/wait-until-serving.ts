// Waits until the units serve, and go on doing so.

import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../../errors/errors.ts";
import { portHolder, portTaken } from "../servers/port.ts";
import { processOfUnit } from "../servers/units.ts";
import { askHost } from "../system/ask-host.ts";
import type { Layout } from "../system/layout.ts";
import { lastJournalLines } from "./systemd.ts";

const DEADLINE_MS = 120_000;
const HEALTH_DEADLINE_MS = 2_000;
const POLL_MS = 250;
/** A server that ends soon after its start is started again by systemd, and might be asked in between. */
const STEADY_MS = 3_000;
/** A server that was started so often does not get ready any more. */
const STARTS_MAX = 6;

/** Throws where they do not, with the end of their log. */
export async function waitUntilServing(layout: Layout): Promise<void> {
  let servingSince: number | undefined;
  let processes = "";
  const controls = new Set<number>();
  for (const end = performance.now() + DEADLINE_MS; performance.now() < end; await sleep(POLL_MS)) {
    const control = await processOfUnit("control");
    if (control !== undefined) controls.add(control.pid);
    if (controls.size > STARTS_MAX) break;
    const now = await whatServes(layout);
    if (now === undefined || now !== processes) servingSince = undefined;
    processes = now ?? "";
    if (now === undefined) continue;
    servingSince ??= performance.now();
    if (performance.now() - servingSince >= STEADY_MS) return;
  }
  throw new CliError("not_ready", "Skerry did not get ready.", {
    remediation: "`systemctl status 'skerry-*'` and `journalctl -u 'skerry-*'` say more. The log ends with:",
    lines: await lastJournalLines(),
  });
}

/** The processes that serve; undefined where not all do. */
async function whatServes(layout: Layout): Promise<string | undefined> {
  const host = await askHost<object>(layout, "/info");
  if (typeof host === "string") return undefined;
  const hostProcess = await processOfUnit("host");
  if (layout.joined !== undefined) return JSON.stringify(hostProcess);
  const holder = await portHolder(layout);
  if (holder.state === "other") throw portTaken(layout, holder.who);
  if (holder.state === "free" || !(await isHealthy(layout))) return undefined;
  return JSON.stringify([hostProcess, await processOfUnit("control")]);
}

function isHealthy(layout: Layout): Promise<boolean> {
  return fetch(`${layout.apiUrl}/v1/health`, { signal: AbortSignal.timeout(HEALTH_DEADLINE_MS) }).then(
    (response) => response.ok,
    () => false,
  );
}
