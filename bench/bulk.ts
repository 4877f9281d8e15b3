// Large files in and out: through the API, in turns with the raw agent channel of a VM that the bare script has started.

import { randomBytes } from "node:crypto";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { create, type Bench } from "./bench.ts";
import { watchMemory } from "./memory.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const BYTES = 100_000_000;
const PATH = "/root/bulk";

export async function measureBulk(bench: Bench): Promise<Measure[]> {
  const { platform, scale } = bench;
  const content = randomBytes(BYTES);
  const rate = (what: string, bar: string): Series => new Series({ what, unit: "MB/s", bar });
  const [rawUp, rawDown] = [
    rate("upload of 100 MB, raw agent channel", "–"),
    rate("download of 100 MB, raw agent channel", "–"),
  ];
  const up = rate("upload of 100 MB", `median ≥ 0.9 × ${rawUp.measure.what}`);
  const down = rate("download of 100 MB", `median ≥ 0.9 × ${rawDown.measure.what}`);
  const floor = await bench.floor();
  await floor.prepare(1);
  const sandbox = await create(platform);
  const raw = await floor.restore();
  const growth = watchMemory(platform);
  try {
    for (const _ of range(scale.bulkRounds)) {
      await attempt([up], () => timed(up, () => sandbox.upload(PATH, content)));
      await attempt([rawUp], () => timed(rawUp, () => raw.channel.upload(PATH, content)));
      await attempt([down], () => timed(down, () => download(sandbox)));
      await attempt([rawDown], () => timed(rawDown, async () => expectAll(await raw.channel.download(PATH))));
    }
  } finally {
    await raw.end();
    await sandbox.destroy();
  }
  const grown = await growth();
  return [
    ...[up, rawUp, down, rawDown].map(({ measure }) => measure),
    {
      what: "growth of control's resident memory meanwhile",
      unit: "MB",
      samples: [grown.control],
      bar: "≤ 32",
    },
    { what: "growth of host's resident memory meanwhile", unit: "MB", samples: [grown.host], bar: "≤ 32" },
  ];
}

async function timed(into: Series, work: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  await work();
  into.add(BYTES / 1_000 / (performance.now() - startedMs));
}

async function download(sandbox: Sandbox): Promise<void> {
  let bytes = 0;
  for await (const chunk of await sandbox.downloadStream(PATH)) bytes += chunk.byteLength;
  expectAll(bytes);
}

function expectAll(bytes: number): void {
  if (bytes !== BYTES) throw new Error(`${bytes} bytes came back`);
}
