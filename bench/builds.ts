// Templates of an app that is built again and again: unchanged, with one changed line, and with many small files. The dependencies of the app are
// files that a step writes, because what a registry answers is no figure of ours.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { contextDigests } from "../packages/sdk/src/folder/context-digests.ts";
import { packTree } from "../packages/sdk/src/folder/tar-writer.ts";
import type { Build, BuildRequest } from "../packages/sdk/src/skerry.ts";
import type { Platform } from "../tests/support/platform.ts";
import { create, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const SMALL_FILES = 10_000;
const SMALL_BYTES = 1_000;
const CHANGED_BYTES = 20_000_000;
const LOOK_MS = 25;
const closed = { size: "shared-cpu-1x", egress: { mode: "deny_all" } } as const;

const DEPENDENCIES =
  "for n in $(seq 2000); do mkdir -p node_modules/$n; head -c 8000 /dev/zero > node_modules/$n/index.js; done";

/** As a detected app of Node is built, without its registry. */
const appSteps = [
  { workdir: "/app" },
  { copy: { from: "package.json", to: "/app/package.json" } },
  { run: DEPENDENCIES },
  { copy: { from: ".", to: "/app" } },
];
const appStart = { command: "node server.js", ready: { port: 8080 } };

export async function measureBuilds(bench: Bench): Promise<Measure[]> {
  const platform = await bench.cold();
  const folder = await mkdtemp("/tmp/skerry-bench-builds-");
  try {
    // The images of `builder` and `node` are built when a build first asks for them, and one that waits for its context does not wait that long.
    await built(platform, {
      name: "first",
      from: "node",
      steps: [{ run: "true" }],
      timeout: "2h",
      ...closed,
    });
    return [
      ...(await measureApp(bench, platform, folder)),
      ...(await measureSmallFiles(bench, platform)),
      ...(await measureLayers(bench, platform)),
      ...(await measureDockerfile(bench, platform)),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureApp(bench: Bench, platform: Platform, folder: string): Promise<Measure[]> {
  const series = (what: string, bar: string): Series => new Series({ what, unit: "ms", bar });
  const unchanged = series("build of an unchanged app, with its folder's digests", "≤ 1,000");
  const changed = series("build of a Node app with one changed line, its dependencies cached", "–");
  const unfrozen = series("… without the freeze", "≤ 15,000");
  const base = series("create of `base`", "–");
  const first = series("first create of a template that was just built", `median ≤ 2 × ${base.measure.what}`);
  bench.begun.push(unchanged, changed, unfrozen, base, first);
  const write = (line: number) =>
    writeFile(
      join(folder, "server.js"),
      `require("node:http").createServer((_, answer) => answer.end("${line}")).listen(8080);\n`,
    );
  await writeFile(join(folder, "package.json"), '{"name":"app"}\n');
  await write(0);
  const request: BuildRequest = { name: "app", from: "node", steps: appSteps, start: appStart, ...closed };
  await buildFolder(platform, folder, request);
  for (const round of range(bench.scale.buildRounds)) {
    await attempt(
      [unchanged],
      async () => void (await unchanged.time(() => buildFolder(platform, folder, request))),
    );
    await write(round + 1);
    await attempt([changed, unfrozen], async () => {
      const { frozeAfterMs, tookMs } = await buildFolder(platform, folder, request);
      changed.add(tookMs);
      unfrozen.add(frozeAfterMs);
    });
    await attempt([base, first], async () => {
      await using plain = await base.time(() => create(platform));
      await using fresh = await first.time(() =>
        platform.client.sandboxes.create({ template: "app", timeout: "1h" }),
      );
      if (plain === undefined || fresh === undefined) throw new Error("a sandbox was not created");
    });
  }
  return [unchanged, changed, unfrozen, base, first].map(({ measure }) => measure);
}

async function measureSmallFiles(bench: Bench, platform: Platform): Promise<Measure[]> {
  const folder = await mkdtemp("/tmp/skerry-bench-small-");
  const untar = new Series({
    what: `tar -x of ${SMALL_FILES} files of 1 kB in a sandbox of \`base\``,
    unit: "ms",
    bar: "–",
  });
  const copy = new Series({ what: `a step that copies the same ${SMALL_FILES} files`, unit: "ms", bar: "–" });
  const rate = new Series({ what: "… as a part of the rate of tar", unit: "×", bar: "median ≥ 0.7" });
  bench.begun.push(untar, copy, rate);
  try {
    for (const index of range(SMALL_FILES / 100)) {
      await mkdir(join(folder, String(index)));
      for (const file of range(100))
        await writeFile(join(folder, String(index), String(file)), Buffer.alloc(SMALL_BYTES, index));
    }
    const archive = await archiveOf(folder);
    const steps = [{ copy: { from: ".", to: "/files" } }];
    for (const round of range(bench.scale.buildRounds))
      await attempt([untar, copy, rate], async () => {
        await using sandbox = await create(platform);
        await sandbox.upload("/tmp/files.tar", archive);
        // Both end with all of it on the disk.
        const said = await sandbox.execute("mkdir /files && tar -C /files -xf /tmp/files.tar && sync", {
          timeout: "5m",
        });
        if (said.exit_code !== 0) throw new Error(said.stderr);
        untar.add(said.duration_ms);
        const { build } = await built(
          platform,
          { name: `small-${round}`, steps, no_cache: true, ...closed },
          archive,
        );
        const [step] = build.steps;
        copy.add(Date.parse(step?.finished_at ?? "") - Date.parse(step?.started_at ?? ""));
        rate.add((untar.samples.at(-1) ?? NaN) / (copy.samples.at(-1) ?? NaN));
      });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return [untar, copy, rate].map(({ measure }) => measure);
}

async function measureLayers(bench: Bench, platform: Platform): Promise<Measure[]> {
  const layers = new Series({
    what: `layers of a version, of which ${CHANGED_BYTES / 1e6} MB have changed, by what has changed`,
    unit: "×",
    bar: "≤ 1.1",
  });
  bench.begun.push(layers);
  const steps = (seed: number) => [
    { run: `head -c ${CHANGED_BYTES} /dev/urandom > /kept; sleep 1` },
    { run: `head -c ${CHANGED_BYTES} /dev/urandom > /changed # ${seed}` },
  ];
  const build = (seed: number) => built(platform, { name: "layers", steps: steps(seed), ...closed });
  await attempt([layers], async () => {
    await build(0);
    const { build: second } = await build(1);
    const own = second.steps.filter(({ cache_hit }) => !cache_hit);
    layers.add(own.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) / CHANGED_BYTES);
  });
  return [layers.measure];
}

/** Of `base`, with the dependencies of the app made by a command. */
const DOCKERFILE = `FROM base
WORKDIR /app
RUN ${DEPENDENCIES}
COPY . /app
`;

async function measureDockerfile(bench: Bench, platform: Platform): Promise<Measure[]> {
  const podman = await bench.podman();
  const series = (what: string, unit: Measure["unit"]): Series => new Series({ what, unit, bar: "–" });
  const ours = series("build of a Dockerfile without a cache and the freeze", "ms");
  const podmanBuild = series("`podman build` of the same, which is not emulated", "ms");
  const ratio = series("… the former, as a multiple", "×");
  bench.begun.push(ours, podmanBuild, ratio);
  const folder = await mkdtemp("/tmp/skerry-bench-dockerfile-");
  try {
    await writeFile(join(folder, "Dockerfile"), DOCKERFILE);
    await writeFile(join(folder, "server.js"), "// An app\n");
    const archive = await archiveOf(folder);
    const request = { name: "docker", from: "base", dockerfile: {}, no_cache: true, ...closed };
    for (const _ of range(bench.scale.dockerfileRounds))
      await attempt([ours, podmanBuild, ratio], async () => {
        ours.add((await built(platform, request, archive)).frozeAfterMs);
        if (typeof podman === "string") return;
        const startedMs = performance.now();
        await podman.build(folder);
        podmanBuild.add(performance.now() - startedMs);
        ratio.add((ours.samples.at(-1) ?? NaN) / (podmanBuild.samples.at(-1) ?? NaN));
      });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const skipped = typeof podman === "string" ? { skipped: podman } : {};
  return [ours.measure, { ...podmanBuild.measure, ...skipped }, { ...ratio.measure, ...skipped }];
}

interface Built {
  readonly build: Build;
  readonly tookMs: number;
  /** When nothing but the freeze was left. */
  readonly frozeAfterMs: number;
}

/** As `skerry template build` does, with the reading of the folder. */
async function buildFolder(platform: Platform, folder: string, request: BuildRequest): Promise<Built> {
  const startedMs = performance.now();
  const { items } = await packTree(folder, "");
  const digests = await contextDigests(["package.json", "."], items);
  const found = await built(platform, { ...request, context_digests: digests }, await archiveOf(folder));
  return { ...found, tookMs: performance.now() - startedMs };
}

async function archiveOf(folder: string): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of (await packTree(folder, "")).archive) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}

async function built(
  platform: Platform,
  request: BuildRequest,
  context?: Buffer<ArrayBuffer>,
): Promise<Built> {
  const { builds, templates } = platform.client;
  const startedMs = performance.now();
  let build = await templates.beginBuild({ ...request, context: context !== undefined });
  if (context !== undefined && build.waits_for_context) await builds.sendContext(build.id, context);
  let frozeAfterMs: number | undefined;
  while (build.finished_at === null) {
    await sleep(LOOK_MS);
    build = await builds.get(build.id);
    if (build.status === "freezing") frozeAfterMs ??= performance.now() - startedMs;
  }
  const tookMs = performance.now() - startedMs;
  if (build.status !== "ready") throw new Error(`the build is ${build.status}: ${build.error?.message}`);
  return { build, tookMs, frozeAfterMs: frozeAfterMs ?? tookMs };
}
