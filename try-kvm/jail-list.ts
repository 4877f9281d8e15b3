// What a program in the place of a VM's QEMU can do on this machine, against the list in the repository: by the test that tries it.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "@skerry/contract/hosts/finding";
import { root } from "../bench/bench.ts";

const TEST = "packages/host/tests/jail.test.ts";
const LIST = "packages/host/tests/jail-list.txt";
const SAID_CHARS = 3_000;

export async function jailFinding(): Promise<Finding> {
  const about = { section: "boundary", check: "what the jail leaves", figures: [] };
  // A vitest that runs this must not be taken for its own.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST")));
  const args = ["run", "--project", "unit", TEST];
  const child = spawn(join(root, "node_modules/.bin/vitest"), args, {
    ...{ cwd: root, env: { ...env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] },
  });
  let said = "";
  const listen = (text: string): void => void (said = (said + text).slice(-SAID_CHARS));
  child.stdout.setEncoding("utf8").on("data", listen);
  child.stderr.setEncoding("utf8").on("data", listen);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const lines = (await readFile(join(root, LIST), "utf8")).split("\n");
  const count = lines.filter((line) => line !== "" && !line.startsWith("#")).length;
  if (code === 0)
    return {
      ...about,
      verdict: "ok",
      found: `what ${LIST} lists (${count} lines), and nothing else`,
      remedy: "",
    };
  return {
    ...{ ...about, verdict: "fault", found: `something else than ${LIST}: ${said.trim()}` },
    remedy:
      "Lines with + are open here and not on the list: do not run what you do not trust, and report it with this file.",
  };
}
