// The build cache with real microVMs, through the command line and the API.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { contextDigests } from "../packages/sdk/src/folder/context-digests.ts";
import { packTree } from "../packages/sdk/src/folder/tar-writer.ts";
import { eagerServices, nothingWaits, startPlatform } from "./support/platform.ts";
import { fullTest } from "./support/full-test.ts";

const platform = await startPlatform({
  assets: inject("assets"),
  env: { ...eagerServices, ...nothingWaits },
});
const folder = await mkdtemp(join(tmpdir(), "skerry-test-cache-"));
afterAll(async () => {
  await rm(folder, { recursive: true });
  await platform.stop();
});

const TIMEOUT_MS = 600_000;
const steps = [
  { workdir: "/app" },
  { copy: { from: "needs.txt", to: "/app/needs.txt" } },
  // What an install is: it takes long, and depends on one file.
  { run: "sleep 2 && cp needs.txt /opt/installed && head -c 3000000 /dev/urandom > /opt/library" },
  { copy: { from: ".", to: "/app" } },
  { run: "cat /opt/installed src/text > answer" },
];

interface Built {
  readonly build: Build;
  readonly lines: readonly string[];
}

async function buildFolder(name: string, more: object = {}): Promise<Built> {
  const { items, archive } = await packTree(folder, "");
  const content: Uint8Array[] = [];
  for await (const part of archive) content.push(Buffer.from(part));
  const lines: string[] = [];
  const build = await platform.client.templates.build(
    {
      ...{ name, steps, size: "shared-cpu-1x", egress: { mode: "deny_all" } },
      context_digests: await contextDigests(["needs.txt", "."], items),
      ...more,
    },
    { context: Buffer.concat(content), onLine: ({ text }) => void lines.push(text) },
  );
  return { build, lines };
}

async function answerOf(template: string): Promise<string> {
  await using sandbox = await platform.client.sandboxes.create({ template, timeout: "10m" });
  return (await sandbox.execute("cat /app/answer; wc -c < /opt/library; cksum < /opt/library")).stdout;
}

const hits = ({ steps: done }: Build) => done.map(({ cache_hit }) => cache_hit);

test(
  "a second build of a changed app skips the install, and is right; of the same, it is there at once",
  async () => {
    await mkdir(join(folder, "src"));
    await writeFile(join(folder, "needs.txt"), "library 1\n");
    await writeFile(join(folder, "src/text"), "first\n");
    const first = await buildFolder("app");
    expect(first.build, first.lines.join("\n")).toMatchObject({ status: "ready", error: null });
    expect(hits(first.build)).toEqual([false, false, false, false, false, false]);
    const said = await answerOf("app");
    expect(said).toMatch(/^library 1\nfirst\n3000000\n/);

    const same = await buildFolder("app", { tag: "same" });
    expect(same.build).toMatchObject({ status: "ready", template_id: first.build.template_id });
    expect(hits(same.build)).toEqual([true, true, true, true, true, true]);

    await writeFile(join(folder, "src/text"), "second\n");
    const second = await buildFolder("app");
    expect(second.build, second.lines.join("\n")).toMatchObject({ status: "ready", error: null });
    expect(hits(second.build).slice(0, 4)).toEqual([true, true, true, false]);
    // The library has random bytes: it is the one of the first build.
    expect(await answerOf("app")).toBe(said.replace("first", "second"));

    await writeFile(join(folder, "needs.txt"), "library 2\n");
    const third = await buildFolder("app");
    expect(hits(third.build).slice(0, 3)).toEqual([false, false, false]);
    const changed = await answerOf("app");
    expect(changed).toMatch(/^library 2\nsecond\n3000000\n/);
    expect(changed).not.toContain(said.trim().split("\n").at(-1));
  },
  TIMEOUT_MS,
);

test(
  "a context that is not what its digests said makes nothing, and without the cache all is carried out",
  async () => {
    const told = (await contextDigests(["needs.txt", "."], (await packTree(folder, "")).items)) as Record<
      string,
      string
    >;
    await writeFile(join(folder, "needs.txt"), "library 3\n");
    const wrong = await buildFolder("other", { context_digests: told });
    expect(wrong.build).toMatchObject({ status: "failed", error: { code: "context_mismatch" } });
    const anew = await buildFolder("other", { no_cache: true });
    expect(anew.build).toMatchObject({ status: "ready", error: null });
    expect(hits(anew.build)).toEqual([false, false, false, false, false, false]);
    const { items: before } = await platform.client.cache.page();
    expect(before.length).toBeGreaterThan(0);
    expect(await platform.client.cache.clear()).toMatchObject({ entries: before.length });
    // The versions stand on layers of their own.
    expect(await answerOf("app")).toMatch(/^library 2\nsecond\n/);
    await writeFile(join(folder, "src/text"), "third\n");
    const cleared = await buildFolder("other");
    expect(hits(cleared.build)).toEqual([false, false, false, false, false, false]);
  },
  TIMEOUT_MS,
);

// Buildah runs for minutes where the CPU is emulated.
fullTest(
  "a Dockerfile's commands before the files that have changed are skipped, and the image is the same",
  async () => {
    const text = [
      "FROM base",
      "ENV GREETING=hello PRICE='$5'",
      "WORKDIR /app",
      "COPY needs.txt .",
      "RUN sleep 2 && cp needs.txt /opt/installed && head -c 3000000 /dev/urandom >/opt/library",
      "COPY . .",
      'RUN echo "$GREETING" | cat - /opt/installed src/text >answer',
      "USER 1000",
    ].join("\n");
    const request = { steps: undefined, dockerfile: { text }, size: "shared-cpu-2x" };
    await mkdir(join(folder, "src"), { recursive: true });
    await writeFile(join(folder, "needs.txt"), "library 1\n");
    await writeFile(join(folder, "src/text"), "first\n");
    const first = await buildFolder("docker", request);
    expect(first.build, first.lines.join("\n")).toMatchObject({ status: "ready", error: null });
    expect(hits(first.build)).toEqual([false, false, false]);
    const said = await answerOf("docker");
    expect(said).toMatch(/^hello\nlibrary 1\nfirst\n3000000\n/);

    await writeFile(join(folder, "src/text"), "second\n");
    const second = await buildFolder("docker", request);
    expect(second.build, second.lines.join("\n")).toMatchObject({ status: "ready", error: null });
    expect(hits(second.build)).toEqual([true, false, false]);
    expect(await answerOf("docker")).toBe(said.replace("first", "second"));
    await using sandbox = await platform.client.sandboxes.create({ template: "docker", timeout: "10m" });
    const holds = await sandbox.execute('id -u; pwd; echo "$GREETING $PRICE"; ls -A / | grep skerry');
    expect(holds.stdout).toBe("1000\n/app\nhello $5\n");
  },
  3 * TIMEOUT_MS,
);
