// Logs of apps on real microVMs: a follower and a receiver have each line of them, over kill -9 of control
// and of the host, and over a deploy.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { AppLogLine } from "@skerry/contract/apps/app-logs";
import { textsOf, type OtlpBody } from "../packages/control/tests/support/log-receivers.ts";
import { serverPid, startPlatform, until, untilReplaced, type Platform } from "./support/platform.ts";

const WITHIN_MS = 180_000;

let platform: Platform;
let receiver: Server;
/** Batches that the receiver has taken. */
const received: string[][] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    json(request)
      .then((body) => {
        received.push(textsOf(body as OtlpBody));
        response.end("{}");
      })
      .catch(() => response.destroy());
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_LOGS_FORWARD: `http://127.0.0.1:${port}/v1/logs` },
  });
});
afterAll(async () => {
  await platform.stop();
  await new Promise((resolve) => receiver.close(resolve));
});

/** Counts for as long as it runs, and says when it is told to end. */
async function deploy(name: string): Promise<void> {
  const count = `i=0; while :; do echo "${name} $i"; i=$((i+1)); sleep 0.1; done`;
  const { id } = await platform.client.apps.deploy("ticks", {
    template: "base",
    processes: { worker: { command: `trap 'echo "${name} ends"; exit' TERM; ${count}` } },
    ...{ watch: "0s", drain_timeout: "1s" },
  });
  const status = () => platform.client.apps.getDeploy("ticks", id).then((one) => one.status, String);
  await until("the deploy is live", async () => (await status()) === "live", WITHIN_MS);
}

async function kill(victim: "control" | "host"): Promise<void> {
  const pid = await serverPid(platform, victim);
  process.kill(pid, "SIGKILL");
  await untilReplaced(platform, victim, pid);
}

const numbersOf = (texts: readonly string[], name: string): number[] =>
  texts.flatMap((text) => new RegExp(`^${name} (\\d+)$`).exec(text)?.slice(1).map(Number) ?? []);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

test("a follower has each line once, and a receiver each at least once, over kills and a deploy", async () => {
  const { apps } = platform.client;
  await apps.create({ name: "ticks" });
  await deploy("first");
  const lines: AppLogLine[] = [];
  const texts = () => lines.map(({ line }) => line);
  const gone = new AbortController();
  const following = (async () => {
    for await (const line of apps.followLogs("ticks", { lines: 10_000, signal: gone.signal }))
      lines.push(line);
  })();
  const more = async (name: string): Promise<void> => {
    const before = numbersOf(texts(), name).length;
    await until("it goes on", async () => numbersOf(texts(), name).length > before + 10, WITHIN_MS);
  };
  await more("first");
  for (const victim of ["control", "host", "control"] as const) {
    await kill(victim);
    await more("first");
  }
  await deploy("second");
  await until("the last line comes", async () => texts().includes("first ends"), WITHIN_MS);
  await more("second");
  for (const name of ["first", "second"]) {
    const numbers = numbersOf(texts(), name);
    expect(numbers).toEqual(upTo(numbers.length));
    const sent = () => numbersOf(received.flat(), name);
    await until("the receiver has them", async () => sent().includes(numbers.length - 1), WITHIN_MS);
    expect([...new Set(sent())].toSorted((one, other) => one - other).slice(0, numbers.length)).toEqual(
      numbers,
    );
  }
  expect(received.flat()).toContain("first ends");
  expect(lines.filter(({ line }) => line === "first ends")).toHaveLength(1);
  // What came twice is of batches that were under way when control was killed, of which each kill has one.
  const repeated = received.filter((batch, at) =>
    batch.some((text) => /^(first|second) \d/.test(text) && received.slice(0, at).flat().includes(text)),
  );
  expect(repeated.length).toBeLessThanOrEqual(2);
  // What it printed is chosen by its deploy and its level, too.
  const { value: last } = await apps.deploys("ticks").next();
  const { lines: chosen } = await apps.logs("ticks", {
    deploy: last === undefined ? "" : last.id,
    level: "info",
    lines: 5,
  });
  expect(chosen).toHaveLength(5);
  expect(chosen.every(({ line, release }) => line.startsWith("second ") && release === 2)).toBe(true);
  gone.abort();
  await expect(following).rejects.toThrow();
});
