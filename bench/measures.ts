// What is measured, one function each. All go through the public API, from this process.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { inventory, type Platform } from "../tests/support/platform.ts";
import type { Measure } from "./report.ts";

const LIFE_SAMPLES = 50;
const EXECUTE_SAMPLES = 200;
const BULK_SAMPLES = 5;
const BULK_BYTES = 100_000_000;
const FLEET = 20;
const IDLE_MS = 15_000;
const MEMORY_POLL_MS = 20;

type Service = "control" | "host";

async function timed<T>(into: number[], work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  into.push(performance.now() - startedMs);
  return result;
}

function create(platform: Platform): Promise<Sandbox> {
  return platform.client.sandboxes.create({ template: "base", timeout: "30m" });
}

export async function measureIdleMemory(platform: Platform): Promise<Measure[]> {
  await sleep(IDLE_MS);
  const services: readonly Service[] = ["control", "host"];
  return Promise.all(
    services.map(async (service) => ({
      what: `resident memory of ${service}, idle`,
      unit: "MB",
      samples: [await residentMb(platform, service)],
      bar: "≤ 150",
    })),
  );
}

export async function measureLife(platform: Platform): Promise<Measure[]> {
  const created: number[] = [];
  const first: number[] = [];
  const destroyed: number[] = [];
  for (let round = 0; round < LIFE_SAMPLES; round += 1) {
    const sandbox = await timed(created, () => create(platform));
    await timed(first, () => expectSuccess(sandbox));
    await timed(destroyed, () => sandbox.destroy());
  }
  return [
    { what: "create, cold pool: asked → answered (usable)", unit: "ms", samples: created, bar: "–" },
    {
      what: "create answered → first `execute` of `true` answered",
      unit: "ms",
      samples: first,
      bar: "median ≤ 250",
    },
    { what: "destroy", unit: "ms", samples: destroyed, bar: "–" },
  ];
}

export async function measureExecute(platform: Platform): Promise<Measure[]> {
  const sandbox = await create(platform);
  const samples: number[] = [];
  for (let round = 0; round < 20; round += 1) await expectSuccess(sandbox);
  for (let round = 0; round < EXECUTE_SAMPLES; round += 1) await timed(samples, () => expectSuccess(sandbox));
  await sandbox.destroy();
  return [
    { what: "`execute` of `true` in a running sandbox, over HTTP", unit: "ms", samples, bar: "median ≤ 20" },
  ];
}

export async function measureBulk(platform: Platform): Promise<Measure[]> {
  const sandbox = await create(platform);
  const content = randomBytes(BULK_BYTES);
  const growth = watchMemory(platform);
  const up: number[] = [];
  const down: number[] = [];
  for (let round = 0; round < BULK_SAMPLES; round += 1) {
    await timed(up, () => sandbox.upload("/root/bulk", content));
    await timed(down, async () => {
      let bytes = 0;
      for await (const chunk of await sandbox.downloadStream("/root/bulk")) bytes += chunk.byteLength;
      if (bytes !== BULK_BYTES) throw new Error(`${bytes} bytes came back`);
    });
  }
  const { control, host } = await growth();
  await sandbox.destroy();
  const rate = (samples: readonly number[]) => samples.map((ms) => BULK_BYTES / 1_000 / ms);
  return [
    { what: "upload of 100 MB", unit: "MB/s", samples: rate(up), bar: "≥ 40" },
    { what: "download of 100 MB", unit: "MB/s", samples: rate(down), bar: "≥ 40" },
    { what: "growth of control's resident memory meanwhile", unit: "MB", samples: [control], bar: "≤ 32" },
    { what: "growth of host's resident memory meanwhile", unit: "MB", samples: [host], bar: "≤ 32" },
  ];
}

export async function measureFleet(platform: Platform): Promise<Measure[]> {
  const startedMs = performance.now();
  const fleet = await Promise.all(Array.from({ length: FLEET }, () => create(platform)));
  const createdMs = performance.now() - startedMs;
  const answers: number[] = [];
  await Promise.all(fleet.map((sandbox) => timed(answers, () => expectSuccess(sandbox))));
  const destroyedFrom = performance.now();
  await Promise.all(fleet.map((sandbox) => sandbox.destroy()));
  const destroyedMs = performance.now() - destroyedFrom;
  const left = await inventory(platform);
  return [
    {
      what: `${FLEET} sandboxes created at once: until all are usable`,
      unit: "ms",
      samples: [createdMs],
      bar: "all",
    },
    {
      what: `… first \`execute\` of \`true\` in each, all at once`,
      unit: "ms",
      samples: answers,
      bar: "all answer",
    },
    { what: "… all destroyed at once", unit: "ms", samples: [destroyedMs], bar: "all" },
    {
      what: "… processes, namespaces, overlays and rows left",
      unit: "count",
      samples: [left.processes + left.namespaces + left.overlays + left.runningRows + left.unsettledRows],
      bar: "0",
    },
  ];
}

async function expectSuccess(sandbox: Sandbox): Promise<void> {
  const { exit_code: exitCode } = await sandbox.execute("true");
  if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
}

/** Starts to watch; the returned function stops and says by how much each process had grown at its largest, in MB. */
function watchMemory(platform: Platform): () => Promise<{ [Name in Service]: number }> {
  const stop = new AbortController();
  const watch = async (service: Service): Promise<number> => {
    const before = await residentMb(platform, service);
    let largest = before;
    while (!stop.signal.aborted) {
      largest = Math.max(largest, await residentMb(platform, service));
      await sleep(MEMORY_POLL_MS);
    }
    return largest - before;
  };
  const control = watch("control");
  const host = watch("host");
  return async () => {
    stop.abort();
    return { control: await control, host: await host };
  };
}

async function residentMb(platform: Platform, service: Service): Promise<number> {
  const state = JSON.parse(await readFile(join(platform.state, "run/supervisor.json"), "utf8")) as {
    services: { readonly [Name in Service]?: { readonly pid: number } };
  };
  const status = await readFile(`/proc/${state.services[service]?.pid ?? 0}/status`, "utf8");
  return (Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024) / 1_000_000;
}
