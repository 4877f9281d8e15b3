import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { delimiter, join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { FRESH_MS, ImageCache, UNUSED_MS, type ImageCacheOptions } from "../src/templates/image-cache.ts";
import { ensureDebianKernel } from "../src/templates/boot-files.ts";
import { NEEDED_FILES } from "../src/templates/kernel-modules.ts";
import { TemplateLibrary, type LibraryOptions } from "../src/templates/library.ts";
import { buildNative, type Native } from "./support/native.ts";
import { mountSmallDisk } from "./support/small-disk.ts";

const MIB = 1024 ** 2;
const path = process.env["PATH"] ?? "";
const key = { name: "base", madeOf: ["one"] };

let native: Native;
let folder: string;
let logged: string[];
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-cache-");
  logged = [];
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

function cacheIn(where: string, options: Partial<ImageCacheOptions> = {}): ImageCache {
  const log = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });
  return new ImageCache({
    ...{ folder: where, contain: native.contain, dataRanges: native.dataRanges, log },
    ...options,
  });
}

/** A file of 64 MiB that holds a few bytes in two places. */
async function imageAt(file: string, text = "some"): Promise<string> {
  await using handle = await open(file, "wx");
  await handle.truncate(64 * MIB);
  await handle.write(text, 5 * MIB);
  await handle.write("end", 63 * MIB);
  return file;
}

/** The only entry of the cache. */
async function entryIn(where: string): Promise<string> {
  const names = await readdir(where);
  expect(names).toHaveLength(1);
  return join(where, names[0] ?? "");
}

async function textAt(file: string): Promise<string> {
  await using handle = await open(file, "r");
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 5 * MIB);
  return buffer.toString();
}

test("one host takes what another has kept: the same file where it can be, and holes stay holes", async () => {
  const cache = join(folder, "cache");
  const image = await imageAt(join(folder, "image"));
  await cacheIn(cache).keep(key, image);
  const target = join(folder, "taken");
  expect(await cacheIn(cache).take({ name: "base", madeOf: ["two"] }, target)).toBe(false);
  expect(await cacheIn(cache).take(key, target)).toBe(true);
  expect((await stat(target)).ino).toBe((await stat(image)).ino);

  await using disk = await mountSmallDisk("cache", 3 * 1_024);
  const copied = join(disk.folder, "taken");
  expect(await cacheIn(cache).take(key, copied)).toBe(true);
  const { size, blocks } = await stat(copied);
  expect([size, await textAt(copied)]).toEqual([64 * MIB, "some"]);
  expect(blocks * 512).toBeLessThan(MIB);
  expect((await stat(cache)).mode & 0o777).toBe(0o700);
});

test("a damaged entry is not used, and the next one takes its place", async () => {
  const cache = join(folder, "cache");
  const image = await imageAt(join(folder, "image"));
  const target = join(folder, "taken");
  const damages: readonly ((entry: string) => Promise<unknown>)[] = [
    async (entry) => {
      await rm(join(entry, "content"));
      await imageAt(join(entry, "content"), "evil");
    },
    (entry) => rm(join(entry, "content")),
    (entry) => writeFile(join(entry, "kept.json"), "{"),
    (entry) => rm(join(entry, "kept.json")),
  ];
  for (const damage of damages) {
    await cacheIn(cache).keep(key, image);
    await damage(await entryIn(cache));
    expect(await cacheIn(cache).take(key, target)).toBe(false);
    expect(await readdir(folder)).not.toContain("taken");
    await rm(await entryIn(cache).catch(() => "none"), { recursive: true, force: true });
  }
  expect(logged.join("")).toContain("a kept image is damaged; it is made anew");
  await cacheIn(cache).keep(key, image);
  expect(await cacheIn(cache).take(key, target)).toBe(true);
});

test("an entry whose packages are old is not used, and is replaced", async () => {
  const cache = join(folder, "cache");
  await cacheIn(cache).keep(key, await imageAt(join(folder, "old"), "old1"));
  const file = join(await entryIn(cache), "kept.json");
  const kept = JSON.parse(await readFile(file, "utf8")) as { made_at: string };
  const madeAt = (ms: number) =>
    writeFile(file, JSON.stringify({ ...kept, made_at: new Date(ms).toISOString() }));
  const target = join(folder, "taken");
  for (const ms of [Date.now() - FRESH_MS, Date.now() + FRESH_MS]) {
    await madeAt(ms);
    expect(await cacheIn(cache).take(key, target)).toBe(false);
  }
  await cacheIn(cache).keep(key, await imageAt(join(folder, "new"), "new1"));
  expect(await cacheIn(cache).take(key, target)).toBe(true);
  expect(await textAt(target)).toBe("new1");
});

test("where another user could have written nothing is taken or kept, and a host goes on without", async () => {
  const above = join(folder, "above");
  const cache = join(above, "cache");
  const image = await imageAt(join(folder, "image"));
  await cacheIn(cache).keep(key, image);
  const target = join(folder, "taken");
  const opened: readonly (readonly [change: () => Promise<void>, back: () => Promise<void>])[] = [
    [() => chmod(cache, 0o777), () => chmod(cache, 0o700)],
    [() => chmod(cache, 0o1777), () => chmod(cache, 0o700)],
    [() => chmod(cache, 0o770), () => chmod(cache, 0o700)],
    [() => chown(cache, 1, 1), () => chown(cache, 0, 0)],
    [() => chmod(above, 0o777), () => chmod(above, 0o755)],
    [() => chown(above, 1, 1), () => chown(above, 0, 0)],
  ];
  for (const [change, back] of opened) {
    await change();
    const one = cacheIn(cache);
    expect(await one.take(key, target)).toBe(false);
    await one.keep({ name: "other", madeOf: [] }, image);
    expect(await one.unused()).toEqual([]);
    expect(await readdir(cache)).toHaveLength(1);
    await back();
  }
  expect(logged).toHaveLength(opened.length);
  // A link is followed before that is judged.
  await symlink(above, join(folder, "link"));
  await chmod(above, 0o777);
  expect(await cacheIn(join(folder, "link/cache")).take(key, target)).toBe(false);
  await chmod(above, 0o755);
  expect(await cacheIn(join(folder, "link/cache")).take(key, target)).toBe(true);
});

test("hosts that keep, take and remove the same image at once leave a whole one, or none", async () => {
  const cache = join(folder, "cache");
  const image = await imageAt(join(folder, "image"));
  const hosts = Array.from({ length: 6 }, async (_, host) => {
    const one = cacheIn(cache, { maxBytes: host === 0 ? 0 : 8 * MIB });
    for (let round = 0; round < 5; round += 1) {
      await one.keep(key, image);
      const target = join(folder, `taken-${host}-${round}`);
      if (await one.take(key, target)) expect(await textAt(target)).toBe("some");
      else expect(await stat(target).catch(() => undefined)).toBeUndefined();
      for (const unused of await one.unused()) await rm(unused, { recursive: true, force: true });
    }
  });
  await Promise.all(hosts);
  await cacheIn(cache).keep(key, image);
  await entryIn(cache);
});

test("on a full disk nothing is kept or taken, and nothing is left of the attempt", async () => {
  const image = await imageAt(join(folder, "image"));
  await using disk = await mountSmallDisk("cache", 8);
  await cacheIn(join(disk.folder, "cache")).keep(key, image);
  expect(await readdir(join(disk.folder, "cache"))).toEqual([]);
  await cacheIn(join(folder, "cache")).keep(key, image);
  expect(await cacheIn(join(folder, "cache")).take(key, join(disk.folder, "taken"))).toBe(false);
  expect(await readdir(disk.folder)).toEqual(["cache"]);
});

test("what no host has used for long goes, what was cut off, and the longest unused above the bound", async () => {
  const where = join(folder, "cache");
  const cache = cacheIn(where);
  for (const name of ["first", "second", "third", "old"]) {
    const image = join(folder, name);
    await writeFile(image, Buffer.alloc(MIB, name));
    await cache.keep({ name, madeOf: [] }, image);
  }
  const pathOf = async (name: string): Promise<string> =>
    join(where, (await readdir(where)).find((one) => one.startsWith(name)) ?? "none");
  const usedAgo = async (name: string, ms: number): Promise<void> => {
    const at = new Date(Date.now() - ms);
    await utimes(await pathOf(name), at, at);
  };
  await mkdir(join(where, "new-young1"));
  await mkdir(join(where, "new-cutoff"));
  await usedAgo("new-cutoff", 2 * 24 * 3_600_000);
  await usedAgo("old", UNUSED_MS + 1_000);
  await usedAgo("first", 3_000_000);
  await usedAgo("second", 2_000_000);
  await usedAgo("third", 1_000_000);
  expect((await cache.unused()).toSorted()).toEqual([await pathOf("new-cutoff"), await pathOf("old")]);
  // To be used again is to be young.
  expect(await cache.take({ name: "first", madeOf: [] }, join(folder, "taken"))).toBe(true);
  const bounded = cacheIn(where, { maxBytes: 2.5 * MIB });
  expect((await bounded.unused()).toSorted()).toEqual([
    await pathOf("new-cutoff"),
    await pathOf("old"),
    await pathOf("second"),
  ]);
});

/** A program in place of mmdebstrap, or of this one. */
async function standIn(script: string, name = "mmdebstrap"): Promise<void> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, name), 0o755);
  process.env["PATH"] = `${bin}${delimiter}${path}`;
}

test("a host with an empty state folder makes nothing that another of the machine has made", async () => {
  const description = { description: "one", suite: "bookworm", packages: ["bash"], disk_gib: 1 };
  await mkdir(join(folder, "templates/one"), { recursive: true });
  await writeFile(
    join(folder, "templates/one/template.json"),
    JSON.stringify({ ...description, warm_up: [] }),
  );
  const libraryOf = async (state: string, debianMirror?: string): Promise<TemplateLibrary> => {
    const options: Partial<LibraryOptions> = {
      templatesFolder: join(folder, "templates"),
      assetsFolder: join(folder, state),
      ...{ debianMirror, contain: native.contain, cache: cacheIn(join(folder, "cache")) },
      log: pino({ level: "silent" }),
    };
    // The rest is for VMs.
    const library = await TemplateLibrary.open(options as LibraryOptions);
    await library.buildImages();
    await library.imagesKept;
    return library;
  };
  await standIn('for tree; do :; done; mkdir -p "$tree/etc"; echo made > "$tree/etc/motd"');
  const [first] = await (await libraryOf("a")).images();
  await standIn("exit 25");
  const second = await libraryOf("b");
  expect(second.list()).toMatchObject([{ name: "one", status: "ready" }]);
  const [image] = await second.images();
  expect((await stat(image ?? "")).ino).toBe((await stat(first ?? "")).ino);
  expect(await readdir(join(folder, "b/images"))).toHaveLength(1);
  // The packages of another archive are others.
  expect((await libraryOf("c", "http://mirror.example/debian")).list()).toMatchObject([{ status: "failed" }]);
});

test("a kernel is kept before the files of its host come into the folder", async () => {
  const cache = cacheIn(join(folder, "cache"));
  const sources = { mirror: undefined, contain: native.contain, cache };
  const files = [...NEEDED_FILES, "modules.order", "modules.builtin", "modules.builtin.modinfo"];
  await standIn(': > "$2/lib/modules/$3/modules.dep"', "depmod");
  // Has the package where the hook would have put it.
  await standIn(`for tree; do :; done; cd "$tree/.." 2>/dev/null || cd "\${tree%/*}"
    mkdir -p tree/boot tree/DEBIAN
    for file in ${files.join(" ")}; do
      file="tree/lib/modules/6.1.0/$file"; mkdir -p "\${file%/*}"; : > "$file"
    done
    echo kernel > tree/boot/vmlinuz-6.1.0
    printf 'Package: k\\nVersion: 1\\nArchitecture: all\\nMaintainer: m\\nDescription: d\\n' > tree/DEBIAN/control
    dpkg-deb -b tree k.deb >/dev/null`);
  await ensureDebianKernel(join(folder, "a/kernel"), sources);
  await writeFile(join(folder, "a/kernel/initramfs-0.cpio"), "x");
  await standIn("exit 25");
  const kernel = await ensureDebianKernel(join(folder, "b/kernel"), sources);
  expect(kernel.version).toBe("6.1.0");
  expect((await readdir(join(folder, "b/kernel"))).toSorted()).toEqual(["lib", "version", "vmlinuz"]);
  const there = await readdir(join(folder, "b/kernel/lib/modules/6.1.0"), { recursive: true });
  expect(there).toEqual(expect.arrayContaining([...NEEDED_FILES]));
});
