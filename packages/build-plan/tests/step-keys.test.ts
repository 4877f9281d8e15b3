// Keys of steps, and digests of what they read.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { PlanRequest } from "../src/build-plan.ts";
import { contextDigest, digestCommand, readDigests, type ContextEntry } from "../src/plan/context-digest.ts";
import { planBuild } from "../src/plan/plan-build.ts";
import { stepKeys, templateKey, type ContextDigests } from "../src/plan/step-key.ts";

const context: ContextDigests = { a: "1", ".": "2" };
const parts = { parent: "p", builder: "b", context };

function keysOf(request: PlanRequest, others: Partial<typeof parts> = {}): (string | null)[] {
  return stepKeys(planBuild(request).steps, { ...parts, ...others });
}

/** Of the last step before the disk is cleaned up. */
function keyOf(steps: NonNullable<PlanRequest["steps"]>, others: Partial<typeof parts> = {}): string | null {
  return keysOf({ steps }, others).at(-2) ?? null;
}

test("a step's key changes with all that it sees, and with nothing else", () => {
  const run = keyOf([{ run: "x" }]);
  expect(run).toMatch(/^[0-9a-f]{64}$/);
  const others = [
    keyOf([{ run: "y" }]),
    keyOf([{ run: "x" }], { parent: "q" }),
    keyOf([{ run: "x" }], { builder: "c" }),
    keyOf([{ env: { A: "1" } }, { run: "x" }]),
    keyOf([{ env: { A: "2" } }, { run: "x" }]),
    keyOf([{ user: "web" }, { run: "x" }]),
    keyOf([{ workdir: "/x" }, { run: "x" }]),
    keyOf([{ run: "before" }, { run: "x" }]),
  ];
  expect(new Set([run, ...others]).size).toBe(others.length + 1);
  // A file that it does not copy, the order of variables, and what follows.
  expect(keyOf([{ run: "x" }], { context: { a: "3" } })).toBe(run);
  expect(keysOf({ steps: [{ run: "x" }, { run: "y" }] })[0]).toBe(run);
  expect(keyOf([{ env: { A: "1", B: "2" } }, { run: "x" }])).toBe(
    keyOf([{ env: { B: "2" } }, { env: { A: "1" } }, { run: "x" }]),
  );
  // A variable is not a step's other one, and its value not its name.
  expect(keyOf([{ env: { A: "B=C" } }, { run: "x" }])).not.toBe(
    keyOf([{ env: { A: "B", C: "" } }, { run: "x" }]),
  );
});

test("a step that copies has a key once it is known what it copies, and so have those behind it", () => {
  const steps = [{ run: "x" }, { copy: { from: "a", to: "/a" } }, { run: "y" }];
  const keys = keysOf({ steps });
  expect(keys.every((key) => key !== null)).toBe(true);
  expect(keysOf({ steps }, { context: { ...context, ".": "3" } })).toEqual(keys);
  const changed = keysOf({ steps }, { context: { ...context, a: "3" } });
  expect(changed[0]).toBe(keys[0]);
  expect(changed.slice(1).some((key) => keys.includes(key))).toBe(false);
  expect(keysOf({ steps }, { context: {} })).toEqual([keys[0], null, null, null]);
  // What every object has is no digest.
  const inherited = [{ copy: { from: "constructor", to: "/a" } }];
  expect(keysOf({ steps: inherited })).toEqual([null, null]);
});

test("an image has a key by its digest and none by its tag, and a Dockerfile by all of its context", () => {
  const image = `a@sha256:${"0".repeat(64)}`;
  expect(keysOf({ image }).every((key) => key !== null)).toBe(true);
  expect(keysOf({ image: "a:1" })).toEqual([null, null]);
  const cloned = keysOf({ git: "https://example.net/app.git", steps: [{ run: "x" }] });
  expect(cloned.filter((key) => key !== null)).toEqual([]);
  const dockerfile = (args: Record<string, string>, whole: string) =>
    keysOf({ dockerfile: { args } }, { context: { ".": whole } })[0];
  const one = dockerfile({ A: "1" }, "2");
  expect(one).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set([one, dockerfile({ A: "2" }, "2"), dockerfile({ A: "1" }, "3")]).size).toBe(3);
});

test("what is left out of a folder that a Dockerfile copies is part of its key, also that there is no such file", () => {
  const text = "FROM base\nRUN x\nCOPY a /a\n";
  const key = (more: ContextDigests): string | null | undefined =>
    keysOf({ dockerfile: { text } }, { context: { ...context, ...more } }).at(-1);
  const keys = [key({}), key({ ".dockerignore": "3" }), key({ ".dockerignore": "4" })];
  keys.push(key({ ".containerignore": "3" }));
  expect(new Set(keys).size).toBe(4);
  expect(keys).not.toContain(null);
  expect(key({ a: "5" })).not.toBe(keys[0]);
});

test("a template's key is that of its last step and of what holds beside its files, in whatever order", () => {
  const config = { env: { A: "1", B: "2" }, user: null };
  expect(templateKey("k", config)).toBe(templateKey("k", { user: null, env: { B: "2", A: "1" } }));
  expect(templateKey("k", config)).not.toBe(templateKey("k", { ...config, user: "web" }));
  expect(templateKey("k", config)).not.toBe(templateKey("l", config));
  expect(templateKey(null, config)).toBeNull();
});

function device(folder: string, path: string, minor: number): ContextEntry {
  execFileSync("mknod", ["-m", "600", join(folder, path), "c", "1", String(minor)]);
  return { kind: "character device", path, mode: 0o600, major: 1, minor };
}

test("the builder and the client come to the same digests", () => {
  const folder = mkdtempSync(join(tmpdir(), "skerry-digest-"));
  try {
    const file = (path: string, text: string, mode: number): ContextEntry => {
      writeFileSync(join(folder, path), text);
      chmodSync(join(folder, path), mode);
      return { kind: "file", path, mode, sha256: createHash("sha256").update(text).digest("hex") };
    };
    const made = (path: string): ContextEntry => {
      mkdirSync(join(folder, path));
      chmodSync(join(folder, path), 0o750);
      return { kind: "folder", path, mode: 0o750 };
    };
    const entries: ContextEntry[] = [
      made("src"),
      made("src/ü \n b"),
      file("src/ü \n b/-x", "one", 0o644),
      file("src/run", "two", 0o4755),
      file("src-2", "three", 0o600),
      made("empty"),
    ];
    symlinkSync("run two", join(folder, "src/to ü"));
    entries.push({ kind: "link", path: "src/to ü", target: "run two" });
    symlinkSync("src", join(folder, "link"));
    entries.push({ kind: "link", path: "link", target: "src" });
    execFileSync("mkfifo", ["-m", "640", join(folder, "pipe")]);
    entries.push({ kind: "pipe", path: "pipe", mode: 0o640 });
    // An archive can have devices where its unpacker is root, as that of a builder is.
    const devices: ContextEntry[] = process.getuid?.() === 0 ? [device(folder, "null", 3)] : [];
    entries.push(...devices);
    const inputs = [".", "src", "src-2", "empty", "src/ü \n b/-x"];
    const printedFor = (asked: readonly string[]) => {
      const { command, env } = digestCommand(asked);
      const printed = execFileSync("/bin/sh", ["-c", command.replace("cd /context", `cd '${folder}'`)], {
        env: { ...process.env, ...env },
        encoding: "utf8",
      });
      return readDigests(asked, printed);
    };
    const digestOf = (path: string) => printedFor([path])[path];
    const found = printedFor([...inputs, "link", "link/run", "missing"]);
    expect(found).toEqual(Object.fromEntries(inputs.map((input) => [input, contextDigest(input, entries)])));
    expect(Object.values(found).every((digest) => digest !== undefined)).toBe(true);
    // Whatever changes is seen, and an order is none.
    expect(contextDigest(".", entries.toReversed())).toBe(found["."]);
    const chmodded = entries.map((entry) => (entry.path === "src-2" ? { ...entry, mode: 0o644 } : entry));
    expect(contextDigest(".", chmodded)).not.toBe(found["."]);
    expect(contextDigest("src", chmodded)).toBe(found["src"]);
    const without = (kind: ContextEntry["kind"]) => entries.filter((entry) => entry.kind !== kind);
    expect(contextDigest(".", without("pipe"))).not.toBe(found["."]);
    for (const one of devices) {
      expect(contextDigest(".", without(one.kind))).not.toBe(found["."]);
      // Another device in its place, which its type and its mode do not tell.
      rmSync(join(folder, one.path));
      const others = [...without(one.kind), device(folder, one.path, 5)];
      expect(digestOf(".")).toBe(contextDigest(".", others));
      expect(digestOf(".")).not.toBe(found["."]);
    }
    expect(contextDigest("missing", entries)).toBeUndefined();
    expect(contextDigest("link", entries)).toBeUndefined();
    // Of two files with the same content and of two names of one, a later step makes different things.
    linkSync(join(folder, "src/run"), join(folder, "second"));
    expect(Object.keys(printedFor([".", "src", "second", "src-2"]))).toEqual(["src-2"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what a builder prints that is no digest is none", () => {
  expect(readDigests(["a", "b", "c"], `-\n${"0".repeat(64)}\nhello`)).toEqual({ b: "0".repeat(64) });
  expect(readDigests(["a"], "")).toEqual({});
});
