// A platform whose guests run on KVM, and what its tests ask of them. Where KVM interprets a guest's kernel a boot takes 15 s and starting a program
// 0.4 s, and several times that beside other work: so these guests do little, and nothing here is timed.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject } from "vitest";
import type { Host, Sandbox } from "../../packages/sdk/src/skerry.ts";
import { qemuPidOf, startPlatform, until, type Platform } from "../support/platform.ts";
import { testKernel } from "./test-kernel.ts";

export const PATIENCE_MS = 5 * 60_000;
/** Of one command. */
const TIMEOUT = "4m";

/** Settings of every host here. */
export function kvmSettings(): Readonly<Record<string, string>> {
  const kernel = testKernel();
  if ("missing" in kernel) throw new Error(kernel.missing);
  return { SKERRY_GUEST_KERNEL: kernel.file, SKERRY_GUEST_DEADLINE_FACTOR: "20" };
}

/** Whoever starts it stops it. */
export async function startKvmPlatform(env: Readonly<Record<string, string>> = {}): Promise<Platform> {
  const assets = inject("kvmAssets");
  return startPlatform({ assets, env: { SKERRY_WARM_MAX: "0", ...kvmSettings(), ...env } });
}

export function create({ client }: Platform, egress?: { readonly mode: "deny_all" }): Promise<Sandbox> {
  return client.sandboxes.create({
    ...{ template: "base", timeout: "1h" },
    ...(egress === undefined ? {} : { egress }),
  });
}

export async function hostsOf({ client }: Pick<Platform, "client">): Promise<Host[]> {
  const all: Host[] = [];
  for await (const host of client.hosts.list()) all.push(host);
  return all;
}

/** Standard output of a command that must succeed. */
export async function outputOf(guest: Pick<Sandbox, "execute">, command: string): Promise<string> {
  const { exit_code, stdout, stderr } = await guest.execute(command, { timeout: TIMEOUT });
  expect({ exit_code, stderr }, command).toEqual({ exit_code: 0, stderr: "" });
  return stdout.trim();
}

/** Starts a program in the background that counts, without starting others. */
export async function startCounting(guest: Sandbox): Promise<void> {
  const script =
    "$n = 0; while (1) { open($f, '>', '/tmp/count.new'); print $f ++$n; close $f; rename '/tmp/count.new', '/tmp/count'; select undef, undef, undef, 0.2 }";
  await outputOf(guest, `perl -e "${script.replaceAll("$", "\\$")}" >/dev/null 2>&1 </dev/null & echo`);
  await until("it counts", async () => (await count(guest)) > 0, PATIENCE_MS);
}

export async function count(guest: Sandbox): Promise<number> {
  const { stdout } = await guest.execute("cat /tmp/count", { timeout: TIMEOUT });
  return Number(stdout);
}

/** What runs in it goes on. */
export async function countsOn(guest: Sandbox, from: number): Promise<void> {
  await until("it goes on counting", async () => (await count(guest)) > from, PATIENCE_MS);
}

/** Its guest rests: its QEMU uses no CPU. */
export async function rests(platform: Pick<Platform, "state">, id: string): Promise<void> {
  const ticks = async (): Promise<number> => {
    const stat = await readFile(`/proc/${await qemuPidOf(platform, id)}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  };
  await until(
    "the sandbox uses no CPU",
    async () => {
      const before = await ticks();
      await sleep(1_500);
      return (await ticks()) === before;
    },
    PATIENCE_MS,
  );
}

/** How far the guest's clock is from this machine's. */
export async function clockErrorMs(guest: Sandbox): Promise<number> {
  const beforeMs = Date.now();
  const guestMs = Number(await outputOf(guest, "bash -c 'echo ${EPOCHREALTIME/./}'")) / 1_000;
  return guestMs < beforeMs ? beforeMs - guestMs : Math.max(0, guestMs - Date.now());
}
