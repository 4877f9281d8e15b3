// Memory of our own processes.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "../tests/support/platform.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";

const POLL_MS = 20;

export const services = ["control", "host"] as const;
export type Service = (typeof services)[number];

export async function measureMemory({ platform, scale }: Bench): Promise<Measure[]> {
  await sleep(scale.idleMs);
  return Promise.all(
    services.map(async (service) => ({
      what: `resident memory of ${service}, idle`,
      unit: "MB" as const,
      samples: [await residentMb(platform, service)],
      bar: "≤ 150",
    })),
  );
}

/** Starts to watch; the returned function stops and says by how much each process had grown at its largest, in MB. */
export function watchMemory(platform: Platform): () => Promise<{ [Name in Service]: number }> {
  const stop = new AbortController();
  const watch = async (service: Service): Promise<number> => {
    const before = await residentMb(platform, service);
    let largest = before;
    while (!stop.signal.aborted) {
      largest = Math.max(largest, await residentMb(platform, service));
      await sleep(POLL_MS);
    }
    return largest - before;
  };
  const control = watch("control");
  const host = watch("host");
  for (const growth of [control, host]) growth.catch(() => undefined); // the returned function throws it
  return async () => {
    stop.abort();
    return { control: await control, host: await host };
  };
}

export async function residentMb(platform: Platform, service: Service): Promise<number> {
  const state = JSON.parse(await readFile(join(platform.state, "run/supervisor.json"), "utf8")) as {
    services: { readonly [Name in Service]?: { readonly pid: number } };
  };
  const status = await readFile(`/proc/${state.services[service]?.pid ?? 0}/status`, "utf8");
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1_000_000;
}
