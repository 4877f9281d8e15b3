import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import type { Ended } from "./support/agent-link.ts";
import { type Build, buildSanitized, type RunningAgent, startAgent } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let agent: RunningAgent;
let folder: string;
beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
afterAll(async () => await build[Symbol.asyncDispose]());
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "skerry-guest-archives-"));
  agent = await startAgent(build);
});
afterEach(async () => {
  expect(await agent.stop()).toBe("");
  rmSync(folder, { recursive: true, force: true });
});

const inside = (name: string): string => path.join(folder, name);

async function unpack(into: string, archive: Buffer): Promise<Ended> {
  const operation = agent.link.open({ op: "unpack", path: into });
  await operation.write(archive);
  operation.close();
  return operation.ended;
}

test("what was packed comes back elsewhere with permissions, links and empty folders", async () => {
  mkdirSync(inside("from/sub/empty"), { recursive: true });
  writeFileSync(inside("from/sub/run"), "x".repeat(1_000_000), { mode: 0o750 });
  symlinkSync("run", inside("from/sub/link"));
  const packed = await agent.link.open({ op: "pack", path: inside("from") }).ended;
  expect(packed.result).toEqual({});
  expect((await unpack(inside("made/on/the/way"), packed.stdout)).result).toEqual({});
  expect(
    execFileSync("bash", ["-c", `diff -r ${inside("from")} ${inside("made/on/the/way")}`]).toString(),
  ).toBe("");
  expect(statSync(inside("made/on/the/way/sub/run")).mode & 0o777).toBe(0o750);
  expect(readdirSync(inside("made/on/the/way/sub"))).toEqual(["empty", "link", "run"]);
});

test("what is no archive, half of one, or no folder is refused", async () => {
  const code = async (ended: Promise<Ended>): Promise<unknown> => (await ended).result["code"];
  expect(await code(unpack(inside("x"), Buffer.from("no archive at all")))).toBe("tar_failed");
  expect(await code(unpack(inside("x"), Buffer.alloc(0)))).toBe("tar_failed");
  writeFileSync(inside("file"), "x".repeat(100_000));
  const packed = await agent.link.open({ op: "pack", path: folder }).ended;
  expect(await code(unpack(inside("half"), packed.stdout.subarray(0, 50_000)))).toBe("tar_failed");
  expect(await code(agent.link.open({ op: "pack", path: inside("file") }).ended)).toBe("not_a_directory");
  expect(await code(agent.link.open({ op: "pack", path: inside("none") }).ended)).toBe("not_found");
  expect(await code(unpack(inside("file"), packed.stdout))).toBe("not_a_directory");
});

test("an archive with names that climb stays below its folder", async () => {
  mkdirSync(inside("a"));
  writeFileSync(inside("evil"), "evil");
  const archive = execFileSync("tar", ["-C", inside("a"), "-cPf", "-", "../evil"]);
  rmSync(inside("evil"));
  await unpack(inside("a/into"), archive);
  expect(() => readFileSync(inside("a/evil"))).toThrow("ENOENT");
});

test("a canceled archive leaves no process behind", async () => {
  const operation = agent.link.open({ op: "unpack", path: inside("x") });
  await operation.write(Buffer.alloc(200_000, "x"));
  operation.cancel();
  expect((await operation.ended).result).toMatchObject({ code: "canceled" });
  writeFileSync(inside("large"), "x".repeat(5_000_000));
  const packing = agent.link.open({ op: "pack", path: folder }, { grants: false });
  await packing.until(() => packing.stdout.length > 0);
  packing.cancel();
  expect((await packing.ended).result).toMatchObject({ code: "canceled" });
  await expect
    .poll(
      () =>
        execFileSync("bash", [
          "-c",
          `grep -lsz '${folder}' /proc/[0-9]*/cwd 2>/dev/null; ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -c '${folder}' || true`,
        ])
          .toString()
          .trim(),
      { timeout: 20_000 },
    )
    .toBe("0");
});
