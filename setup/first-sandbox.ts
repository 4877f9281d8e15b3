// The main job before the user's eyes: a sandbox, a file, a command on it, its result. Every step with its time.

import { readFile } from "node:fs/promises";
import { configPath, localConfigPath, type SavedConfig } from "@skerry/sdk/saved-settings";
import { Skerry } from "../packages/sdk/src/skerry.ts";

const PROGRAM = `import json, platform, sys
words = open("/work/words.txt").read().split()
json.dump({"words": len(words), "longest": max(words, key=len), "python": platform.python_version(),
           "kernel": platform.release()}, open("/work/result.json", "w"))
`;

async function timed<T>(title: string, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await work();
  const took = Math.round(performance.now() - startedMs);
  process.stdout.write(`${title.padEnd(52)} ${String(took).padStart(6)} ms\n`);
  return result;
}

/** What `skerry up` has saved on this machine, also where the user's settings are for another server. */
async function localSettings(): Promise<SavedConfig> {
  const text = await readFile(localConfigPath(), "utf8").catch(() => readFile(configPath(), "utf8"));
  return JSON.parse(text) as SavedConfig;
}

const { api_url: baseUrl, token } = await localSettings();
const skerry = new Skerry({ baseUrl, token });

const sandbox = await timed("Create a sandbox (a microVM of its own)", () =>
  skerry.sandboxes.create({ template: "base", timeout: "10m" }),
);
await timed("Upload a file", () => sandbox.upload("/work/words.txt", "a skerry is a small rocky island"));
await timed("Upload a program", () => sandbox.upload("/work/count.py", PROGRAM));
const run = await timed("Run it in the sandbox", () => sandbox.execute("python3 /work/count.py"));
if (run.exit_code !== 0) throw new Error(`the program failed: ${run.stderr}`);
const result = await timed("Download the result", () => sandbox.download("/work/result.json"));
process.stdout.write(`\n  ${Buffer.from(result).toString("utf8")}\n
That was ${sandbox.id}; it destroys itself in 10 minutes. Try next:

  bin/skerry sandbox exec ${sandbox.id} -- 'uname -a; ls -la /work'
  bin/skerry sandbox create --template base --timeout 1h
  bin/skerry sandbox list
  bin/skerry status
  bin/skerry down
`);
