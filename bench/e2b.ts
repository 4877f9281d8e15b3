// E2B's client beside our own, in turns in one run: what the surface for it costs, and what it holds where no client uses it.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "e2b-2.51";
import { startPlatform, type Platform } from "../tests/support/platform.ts";
import { assets, create, settings, type Bench } from "./bench.ts";
import { residentMb } from "./memory.ts";
import { poolAtRest } from "./pool.ts";
import type { Measure } from "./results.ts";
import { attempt, inParallel, range, Series } from "./series.ts";

const BYTES = 100_000_000;
const WATCHED = { watchers: 100, filesOfEach: 100 };

export async function measureE2b(bench: Bench): Promise<Measure[]> {
  return [
    ...(await measureFirstCommand(bench)),
    ...(await measureFiles(bench)),
    ...(await measureWatchers(bench)),
    ...(await measureUnused(bench)),
  ];
}

function optionsOf({ apiUrl, token }: Platform) {
  return {
    apiKey: `e2b_${Buffer.from(token).toString("hex")}`,
    apiUrl: `${apiUrl}/e2b`,
    sandboxUrl: `${apiUrl}/e2b/sandbox`,
    requestTimeoutMs: 300_000,
    timeoutMs: 3_600_000,
  };
}

/** What E2B's clients ask for when they are told to run `true`: a login shell of the user. */
const THEIR_TRUE = "exec /usr/bin/setpriv --reuid=1000 --regid=1000 --init-groups -- /bin/bash -l -c true";

async function measureFirstCommand({ platform, scale }: Bench): Promise<Measure[]> {
  const plain = new Series({ what: "create and `true` by our client", unit: "ms", bar: "–" });
  const native = new Series({
    what: "create and `true` in a login shell of `user` by our client",
    unit: "ms",
    bar: "–",
  });
  const theirs = new Series({
    what: "create and `true` by E2B's client, which takes such a shell",
    unit: "ms",
    bar: `median ≤ 1.25 × ${plain.measure.what}`,
  });
  const byUs = (into: Series, command: string) => async (): Promise<void> => {
    const sandbox = await into.time(async () => {
      const made = await create(platform);
      const { exit_code: code } = await made.execute(command);
      if (code !== 0) throw new Error(`the command ended with ${code}`);
      return made;
    });
    await sandbox?.destroy();
  };
  const byThem = async (): Promise<void> => {
    const sandbox = await theirs.time(async () => {
      const made = await Sandbox.create("base", optionsOf(platform));
      await made.commands.run("true");
      return made;
    });
    await sandbox?.kill();
  };
  // What each client and the server load with the first call is not measured.
  const warm = await Sandbox.create("base", optionsOf(platform));
  await warm.commands.run("true");
  await warm.kill();
  const ways = [byUs(plain, "true"), byUs(native, THEIR_TRUE), byThem];
  for (const round of range(scale.lifeRounds)) {
    for (const one of round % 2 === 0 ? ways : ways.toReversed()) {
      await poolAtRest(platform);
      await one();
    }
  }
  return [plain, native, theirs].map(({ measure }) => measure);
}

async function measureFiles({ platform, scale }: Bench): Promise<Measure[]> {
  const rate = (what: string, bar: string): Series => new Series({ what, unit: "MB/s", bar });
  const [up, down] = [
    rate("upload of 100 MB by our client", "–"),
    rate("download of 100 MB by our client", "–"),
  ];
  const write = rate("`files.write` of 100 MB by E2B's client", `median ≥ 0.8 × ${up.measure.what}`);
  const read = rate("`files.read` of 100 MB by E2B's client", `median ≥ 0.8 × ${down.measure.what}`);
  const content = randomBytes(BYTES);
  const blob = new Blob([content]);
  const native = await create(platform);
  const theirs = await Sandbox.create("base", optionsOf(platform));
  const path = "/tmp/bulk";
  try {
    for (const _ of range(scale.bulkRounds)) {
      await attempt([up], () => timed(up, () => native.upload(path, content)));
      await attempt([write], () => timed(write, () => theirs.files.write(path, blob)));
      await attempt([down], () => timed(down, async () => expectAll(await native.downloadStream(path))));
      await attempt([read], () =>
        timed(read, async () => expectAll(await theirs.files.read(path, { format: "stream" }))),
      );
    }
  } finally {
    await theirs.kill();
    await native.destroy();
  }
  return [up, write, down, read].map(({ measure }) => measure);
}

async function timed(into: Series, work: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  await work();
  into.add(BYTES / 1_000 / (performance.now() - startedMs));
}

async function expectAll(content: AsyncIterable<Uint8Array>): Promise<void> {
  let bytes = 0;
  for await (const chunk of content) bytes += chunk.byteLength;
  if (bytes !== BYTES) throw new Error(`${bytes} bytes came back`);
}

/** Each watches a folder of a tree of 10,000 files, and one file changes in each folder. */
async function measureWatchers({ platform }: Bench): Promise<Measure[]> {
  const heard = new Series({
    what: "change until its watcher heard of it, of 100",
    unit: "ms",
    bar: "none fails",
  });
  const sandbox = await Sandbox.create("base", optionsOf(platform));
  const folders = range(WATCHED.watchers).map((index) => `/tmp/tree/${index}`);
  const { watchers, filesOfEach } = WATCHED;
  const make = `for d in $(seq 0 ${watchers - 1}); do mkdir -p /tmp/tree/$d; (cd /tmp/tree/$d && touch $(seq 1 ${filesOfEach})); done`;
  const beforeMb = await residentMb(platform, "control");
  try {
    await sandbox.commands.run(make, { timeoutMs: 600_000 });
    const waiting = new Map<string, () => void>();
    const handles: { stop: () => Promise<void> }[] = [];
    await inParallel(folders, 4, async (folder) => {
      handles.push(
        await sandbox.files.watchDir(folder, ({ name }) => waiting.get(`${folder}/${name}`)?.(), {
          timeoutMs: 0,
        }),
      );
    });
    for (const folder of folders)
      await heard.time(async () => {
        const told = new Promise<void>((resolve) => waiting.set(`${folder}/new`, resolve));
        await sandbox.files.write(`${folder}/new`, "x");
        await Promise.race([told, silence()]);
      });
    const grownMb = (await residentMb(platform, "control")) - beforeMb;
    await Promise.all(handles.map((handle) => handle.stop()));
    const memory = {
      what: "growth of control's resident memory with 100 watchers",
      unit: "MB",
      samples: [Math.max(0, grownMb)],
      bar: "≤ 64",
    } as const;
    return [heard.measure, memory];
  } finally {
    await sandbox.kill();
  }
}

async function silence(): Promise<never> {
  await sleep(30_000, undefined, { ref: false });
  throw new Error("the change was not heard of");
}

/** Platforms with the surface and without it, each started anew and never called by E2B's clients. */
async function measureUnused({ scale }: Bench): Promise<Measure[]> {
  const of = (what: string, unit: "MB" | "ms", bar: string) => new Series({ what, unit, bar });
  const [startOff, memoryOff] = [
    of("start of a platform without the surface", "ms", "–"),
    of("resident memory of control without the surface", "MB", "–"),
  ];
  const startOn = of(
    "start of a platform with the surface, unused",
    "ms",
    `median ≤ 1.1 × ${startOff.measure.what}`,
  );
  const memoryOn = of(
    "resident memory of control with the surface, unused",
    "MB",
    `median ≤ 1.05 × ${memoryOff.measure.what}`,
  );
  const ways = [
    { env: { SKERRY_E2B: "off" }, start: startOff, memory: memoryOff },
    { env: {}, start: startOn, memory: memoryOn },
  ];
  for (const round of range(scale.forkRounds))
    for (const { env, start, memory } of round % 2 === 0 ? ways : ways.toReversed()) {
      const platform = await start.time(() =>
        startPlatform({ assets, env: { ...settings, ...env, SKERRY_WARM_MIN: "0", SKERRY_WARM_MAX: "0" } }),
      );
      if (platform === undefined) continue;
      try {
        await sleep(scale.idleMs);
        memory.add(await residentMb(platform, "control"));
      } finally {
        await platform.stop();
      }
    }
  return [startOff, startOn, memoryOff, memoryOn].map(({ measure }) => measure);
}
