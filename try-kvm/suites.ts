// `npm test` and `npm run bench` as a part of the report, for those who ask for it: together they take about an hour.

import { spawn } from "node:child_process";
import type { Finding } from "@skerry/contract/hosts/finding";
import { figureOf } from "@skerry/contract/hosts/finding";
import { root } from "../bench/bench.ts";

const SECTION = "suites";
const LAST_LINE_CHARS = 200;

const suites = [
  ["npm test", ["bash", "setup/test.sh"]],
  ["npm run bench", ["node", "bench/main.ts", "--quick"]],
] as const;

export async function suiteFindings(isWanted: boolean, signal: AbortSignal): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, command] of suites) {
    const check = { section: SECTION, check: name, remedy: "", figures: [] };
    if (isWanted) findings.push(await suite(name, command, signal));
    else
      findings.push({ ...check, verdict: "not_tried", found: "it takes long: npm run try-kvm -- --suites" });
  }
  return findings;
}

async function suite(
  name: string,
  [program, ...args]: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<Finding> {
  const startedMs = performance.now();
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"], signal });
  let tail = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    process.stderr.write(text);
    tail = (tail + text).slice(-LAST_LINE_CHARS);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const figures = [figureOf("it took", "s", [(performance.now() - startedMs) / 1_000])];
  const last = tail.trim().split("\n").at(-1) ?? "";
  if (code === 0) return { section: SECTION, check: name, verdict: "ok", found: last, remedy: "", figures };
  return {
    ...{
      section: SECTION,
      check: name,
      verdict: "fault",
      found: `it ended with ${code ?? "a signal"}: ${last}`,
    },
    remedy: "What it printed says which part failed: report it with this file.",
    figures,
  };
}
