import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";

import { expect, test } from "vitest";

import type { Ended } from "./support/agent-link.ts";
import { useAgentInFolder } from "./support/agent-in-folder.ts";

const world = useAgentInFolder("archives");

async function unpack(into: string, archive: Buffer): Promise<Ended> {
  const operation = world.agent.link.open({ op: "unpack", path: into });
  await operation.write(archive);
  operation.close();
  return operation.ended;
}

test("what was packed comes back elsewhere with permissions, links and empty folders", async () => {
  mkdirSync(world.inside("from/sub/empty"), { recursive: true });
  writeFileSync(world.inside("from/sub/run"), "x".repeat(1_000_000), { mode: 0o750 });
  symlinkSync("run", world.inside("from/sub/link"));
  const packed = await world.agent.link.open({ op: "pack", path: world.inside("from") }).ended;
  expect(packed.result).toEqual({});
  expect((await unpack(world.inside("made/on/the/way"), packed.stdout)).result).toEqual({});
  expect(
    execFileSync("bash", [
      "-c",
      `diff -r ${world.inside("from")} ${world.inside("made/on/the/way")}`,
    ]).toString(),
  ).toBe("");
  expect(statSync(world.inside("made/on/the/way/sub/run")).mode & 0o777).toBe(0o750);
  expect(readdirSync(world.inside("made/on/the/way/sub"))).toEqual(["empty", "link", "run"]);
});

test("what is no archive, half of one, or no folder is refused", async () => {
  const code = async (ended: Promise<Ended>): Promise<unknown> => (await ended).result["code"];
  expect(await code(unpack(world.inside("x"), Buffer.from("no archive at all")))).toBe("tar_failed");
  expect(await code(unpack(world.inside("x"), Buffer.alloc(0)))).toBe("tar_failed");
  writeFileSync(world.inside("file"), "x".repeat(100_000));
  const packed = await world.agent.link.open({ op: "pack", path: world.folder }).ended;
  expect(await code(unpack(world.inside("half"), packed.stdout.subarray(0, 50_000)))).toBe("tar_failed");
  expect(await code(world.agent.link.open({ op: "pack", path: world.inside("file") }).ended)).toBe(
    "not_a_directory",
  );
  expect(await code(world.agent.link.open({ op: "pack", path: world.inside("none") }).ended)).toBe(
    "not_found",
  );
  expect(await code(unpack(world.inside("file"), packed.stdout))).toBe("not_a_directory");
});

test("an archive with names that climb stays below its folder", async () => {
  mkdirSync(world.inside("a"));
  writeFileSync(world.inside("evil"), "evil");
  const archive = execFileSync("tar", ["-C", world.inside("a"), "-cPf", "-", "../evil"]);
  rmSync(world.inside("evil"));
  await unpack(world.inside("a/into"), archive);
  expect(() => readFileSync(world.inside("a/evil"))).toThrow("ENOENT");
});

test("a canceled archive leaves no process behind", async () => {
  const operation = world.agent.link.open({ op: "unpack", path: world.inside("x") });
  await operation.write(Buffer.alloc(200_000, "x"));
  operation.cancel();
  expect((await operation.ended).result).toMatchObject({ code: "canceled" });
  writeFileSync(world.inside("large"), "x".repeat(5_000_000));
  const packing = world.agent.link.open({ op: "pack", path: world.folder }, { grants: false });
  await packing.until(() => packing.stdout.length > 0);
  packing.cancel();
  expect((await packing.ended).result).toMatchObject({ code: "canceled" });
  await expect
    .poll(
      () =>
        execFileSync("bash", [
          "-c",
          `grep -lsz '${world.folder}' /proc/[0-9]*/cwd 2>/dev/null; ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -c '${world.folder}' || true`,
        ])
          .toString()
          .trim(),
      { timeout: 20_000 },
    )
    .toBe("0");
});
