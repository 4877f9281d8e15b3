import { mkdir, mkdtemp, readFile, readdir, rename, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { removeUntouched, sweepUnusedFiles } from "../src/app/unused-files.ts";
import { newId } from "@skerry/contract/ids";
import { Snapshots } from "../src/vm/saved/snapshots.ts";
import type { Host } from "../src/app/host.ts";
import { backingPlaces } from "../src/vm/disk/backing-files.ts";
import { Layers } from "../src/vm/disk/layers.ts";
import { removeTree, removeWorkFolder } from "../src/system/remove-tree.ts";
import { runProgram } from "../src/system/run.ts";
import { OwnTemplates } from "../src/templates/own-templates.ts";
import { unusedTemplates } from "../src/templates/unused-templates.ts";

const AN_HOUR_MS = 3_600_000;
const deadlineMs = 10_000;

/** What was logged since the last test, a line each. */
let logged: string[] = [];
const log = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-sweep-"));
});
afterEach(async () => {
  logged = [];
  await removeWorkFolder(folder);
});

async function mountsHere(): Promise<string[]> {
  const mounts = (await readFile("/proc/self/mounts", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "");
  return mounts.filter((point) => point.startsWith(`${folder}/`));
}

/** A folder with a file, and a file system of its own below with another. */
async function withMount(name: string): Promise<{ readonly path: string; readonly inner: string }> {
  const path = join(folder, name);
  const inner = join(path, "root/proc");
  await mkdir(inner, { recursive: true });
  await writeFile(join(path, "file"), "x");
  await runProgram("mount", ["-t", "tmpfs", "skerry-unit", inner], { deadlineMs });
  await writeFile(join(inner, "inside"), "x");
  return { path, inner };
}

test("while the host is at work a template that nothing needs goes only when it is old: a young one may be in the making", async () => {
  const folders = { images: join(folder, "images"), frozen: join(folder, "frozen") };
  const names = ["base-current", "base-below", "base-unknown"];
  await mkdir(folders.images);
  for (const name of names) {
    await writeFile(join(folders.images, `${name}.ext4`), "x");
    await mkdir(join(folders.frozen, name), { recursive: true });
    await writeFile(join(folders.frozen, name, "memory"), "x");
  }
  const used = {
    images: [join(folders.images, "base-current.ext4")],
    frozen: ["base-current"],
    below: new Set([
      join(folders.images, "base-below.ext4"),
      join(folders.frozen, "base-below", "disk.qcow2"),
    ]),
  };
  const unused = await unusedTemplates(folders, used);
  expect(await removeUntouched(unused, Date.now() - AN_HOUR_MS, { remove: removeTree, log })).toBe(0);
  expect((await readdir(folders.frozen)).toSorted()).toEqual(names.toSorted());
  expect(await removeUntouched(unused, Infinity, { remove: removeTree, log })).toBe(2);
  expect((await readdir(folders.frozen)).toSorted()).toEqual(["base-below", "base-current"]);
  expect((await readdir(folders.images)).toSorted()).toEqual(["base-below.ext4", "base-current.ext4"]);
});

test("a file that is gone already is not counted", async () => {
  await writeFile(join(folder, "there"), "x");
  const paths = [join(folder, "there"), join(folder, "gone")];
  expect(await removeUntouched(paths, Infinity, { remove: removeTree, log })).toBe(1);
});

test("a file with an old time that has just come to its place, as one that was unpacked or renamed, stays", async () => {
  const [old, moved] = [join(folder, "old"), join(folder, "moved")];
  const longAgo = new Date(Date.now() - 24 * AN_HOUR_MS);
  await writeFile(old, "x");
  await utimes(old, longAgo, longAgo);
  await rename(old, moved);
  expect(await removeUntouched([moved], Date.now() - AN_HOUR_MS, { remove: removeTree, log })).toBe(0);
  expect(await readdir(folder)).toEqual(["moved"]);
});

test("a folder below which something is mounted is left as it is, and nothing of the mount goes", async () => {
  const { path, inner } = await withMount("frozen one");
  await expect(removeTree(path)).rejects.toThrow(`${inner} is mounted`);
  expect(await readdir(inner)).toEqual(["inside"]);
  expect((await readdir(path)).toSorted()).toEqual(["file", "root"]);
});

test("of a folder that a program was killed in the mounts go first, and what they hold stays", async () => {
  const { path, inner } = await withMount("base-building-x");
  // The same file system, seen once more from outside.
  const outside = join(folder, "outside");
  await mkdir(outside);
  await runProgram("mount", ["--bind", inner, outside], { deadlineMs });
  await removeWorkFolder(path);
  await expect(stat(path)).rejects.toThrow("ENOENT");
  expect(await mountsHere()).toEqual([outside]);
  expect(await readdir(outside)).toEqual(["inside"]);
});

test("one that cannot be removed is told once, and the others go all the same", async () => {
  const { path } = await withMount("old");
  const others = ["a", "z"].map((name) => join(folder, name));
  for (let round = 0; round < 3; round += 1) {
    for (const other of others) await writeFile(other, "x");
    const paths = [others[0] ?? "", path, others[1] ?? ""];
    expect(await removeUntouched(paths, Infinity, { remove: removeTree, log })).toBe(2);
  }
  expect(logged.filter((line) => line.includes("could not be removed"))).toHaveLength(1);
  expect(await readdir(folder)).toEqual(["old"]);
});

interface Parts {
  readonly sharedAssets?: boolean;
  readonly below: () => Promise<ReadonlySet<string> | undefined>;
  readonly unusedOwn?: () => Promise<string[]>;
}

/** A host whose caches are in the folder. */
function hostWith({ below, unusedOwn = async () => [], sharedAssets = false }: Parts): Host {
  const layers = new Layers(folder, "data-ranges");
  const host = {
    config: { sharedAssets, assetsFolder: join(folder, "assets") },
    boot: { kernel: "", initramfs: "" },
    imageCache: { unused: async () => [] },
    engine: { allBackingFiles: below },
    library: {
      unusedOwn,
      cutOffOwn: async () => [],
      unused: async () => [],
      cutOff: async () => [join(folder, "base-building-x")],
    },
    moves: { unusedLayers: (needed: ReadonlySet<string>) => layers.unused(needed) },
  };
  return host as unknown as Host;
}

test("what comes while it is looked up what disks stand on stays, however long that takes", async () => {
  await writeFile(join(folder, "old.layer"), "x");
  await sleep(50);
  const startedMs = Date.now();
  await sleep(20);
  const below = async (): Promise<ReadonlySet<string>> => {
    await writeFile(join(folder, "arriving.layer"), "x");
    await sleep(100);
    return new Set();
  };
  expect(await sweepUnusedFiles(hostWith({ below }), startedMs, log)).toBe(1);
  expect(await readdir(folder)).toEqual(["arriving.layer"]);
});

test("a cut-off build goes with its mounts also where it is not known what disks stand on, and nothing else does", async () => {
  await withMount("base-building-x");
  await mkdir(join(folder, "assets/kernel-x"), { recursive: true });
  await mkdir(join(folder, "assets/kernel"));
  await writeFile(join(folder, "some.layer"), "x");
  expect(await sweepUnusedFiles(hostWith({ below: async () => undefined }), Infinity, log)).toBe(2);
  expect((await readdir(folder)).toSorted()).toEqual(["assets", "some.layer"]);
  expect(await readdir(join(folder, "assets"))).toEqual(["kernel"]);
  expect(await mountsHere()).toEqual([]);
});

test("in a folder that several hosts share a cut-off build stays until no host can be at work in it", async () => {
  await mkdir(join(folder, "base-building-x"));
  const host = hostWith({ below: async () => undefined, sharedAssets: true });
  expect(await sweepUnusedFiles(host, Infinity, log)).toBe(0);
  // What a file was last changed at cannot be set, so the clock goes on.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + AN_HOUR_MS + 60_000 });
  try {
    expect(await sweepUnusedFiles(host, Infinity, log)).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a cache that cannot be listed does not keep the others from being swept", async () => {
  await writeFile(join(folder, "old.layer"), "x");
  const unusedOwn = () => Promise.reject(new Error("no QEMU"));
  expect(await sweepUnusedFiles(hostWith({ below: async () => new Set(), unusedOwn }), Infinity, log)).toBe(
    1,
  );
  expect(await readdir(folder)).toEqual([]);
  expect(logged.join("")).toContain("no QEMU");
});

test("what was not finished and cannot be removed does not keep a host from starting", async () => {
  const places = backingPlaces({ stateFolder: folder, assetsFolder: folder });
  const { path } = await withMount(`snapshots/${newId("snapshot")}.part`);
  const { path: other } = await withMount("templates/cut-off");
  const layers = new Layers(places.layers, "data-ranges");
  const snapshots = await Snapshots.open({ folder: join(folder, "snapshots"), places, log });
  const templates = await OwnTemplates.open({ folder: join(folder, "templates"), places, layers, log });
  expect([snapshots.list(), templates.list()]).toEqual([[], []]);
  expect(logged.filter((line) => line.includes(path) || line.includes(other))).toHaveLength(2);
});
