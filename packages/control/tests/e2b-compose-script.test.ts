// The command that puts the parts of an E2B client's large file together, in the shell of this machine.

import { execFileSync } from "node:child_process";
import {
  chmod,
  link,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { composeScript } from "../src/e2b/guest-shell.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "skerry-compose-"))));
afterEach(() => rm(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

async function compose(name: string): Promise<void> {
  await writeFile(at("part 1"), "one ");
  await writeFile(at("part 2"), "two");
  const parts = [at("part 1"), at("part 2")].map((part) => `'${part}'`).join(" ");
  execFileSync("sh", ["-c", composeScript(parts, at(name), `${process.getuid?.()}:${process.getgid?.()}`)]);
  expect(await readFile(at(name), "utf8")).toBe("one two");
}

const modeOf = async (name: string) => ((await stat(at(name))).mode & 0o7777).toString(8);

test("a new file has the usual permissions, and nothing is left beside it", async () => {
  await compose("new");
  expect(await modeOf("new")).toBe("644");
  expect(await readdir(folder)).toEqual(["new"]);
});

test("a file that is there keeps its permissions, the link that leads to it, and its other names", async () => {
  await writeFile(at("run.sh"), "old");
  await chmod(at("run.sh"), 0o750);
  await symlink("run.sh", at("link"));
  await compose("link");
  expect([(await lstat(at("link"))).isSymbolicLink(), await readFile(at("run.sh"), "utf8")]).toEqual([
    ...[true, "one two"],
  ]);
  await link(at("run.sh"), at("other"));
  await compose("run.sh");
  expect([await modeOf("run.sh"), (await stat(at("run.sh"))).nlink]).toEqual(["750", 2]);
  expect(await readFile(at("other"), "utf8")).toBe("one two");
  expect((await readdir(folder)).toSorted()).toEqual(["link", "other", "run.sh"]);
});
