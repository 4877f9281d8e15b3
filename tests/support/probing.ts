// What a guest reaches, tried in the guest itself with `probe.py`.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Sandbox } from "../../packages/sdk/src/skerry.ts";

export type Destination = readonly [protocol: "tcp" | "udp" | "icmp", address: string, port: number];

/** With whether it should answer: then the answer is waited for. */
export type Wanted = readonly [Destination, expected: boolean];

/** Puts a tool into a guest. */
export async function equip(guest: Sandbox, tool: "probe.py" | "forge.py"): Promise<void> {
  await guest.upload(`/root/${tool}`, await readFile(join(import.meta.dirname, tool), "utf8"));
}

/** The command that tries all of them at once. */
export function probing(wanted: readonly Wanted[]): string {
  const tried = wanted.map(([destination, expected]) => [...destination, expected]);
  return `python3 /root/probe.py '${JSON.stringify(tried)}'`;
}

/** Which of them answered. */
export async function probe(guest: Sandbox, wanted: readonly Wanted[]): Promise<boolean[]> {
  const run = await guest.execute(probing(wanted), { timeout: "2m" });
  expect(run.stderr).toBe("");
  return JSON.parse(run.stdout) as boolean[];
}

export async function expectAnswers(guest: Sandbox, wanted: readonly Wanted[]): Promise<void> {
  const answered = await probe(guest, wanted);
  expect(wanted.map(([destination], index) => [destination, answered[index]])).toEqual(wanted);
}
