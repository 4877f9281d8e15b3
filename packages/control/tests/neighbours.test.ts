// What one organization does with large outputs, and what the others notice of it.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { sql } from "kysely";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { readEvents } from "../../sdk/src/http/event-stream.ts";
import { openForMigration } from "../src/db/database.ts";
import type { Read } from "./support/reading-client.ts";
import { gateOf } from "./support/fake-commands.ts";
import { startControl } from "./support/replica.ts";
import { eventually, useWorld, waitingForLocks } from "./support/world.ts";

const LARGEST_BYTES = 10 * 1024 * 1024;
const client = new URL("./support/reading-client.ts", import.meta.url).pathname;

/** An organization with a token and a sandbox. */
interface Tenant {
  readonly token: string;
  readonly path: string;
}

const world = useWorld();
let greedy: Tenant;
let other: Tenant;
beforeAll(async () => {
  greedy = await tenant(world.token);
  other = await tenant(await world.strangerToken());
});

async function tenant(token: string): Promise<Tenant> {
  const { status, body } = await world.call<Sandbox>("POST", "/v1/sandboxes", {
    token,
    body: { template: "base" },
  });
  expect(status).toBe(201);
  return { token, path: `/v1/sandboxes/${body.id}/execute` };
}

function run({ token, path }: Tenant, command: string, signal?: AbortSignal): Promise<Response> {
  return fetch(world.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ command }),
    signal: signal ?? null,
  });
}

/** Commands whose end control has read. */
function ended(): number {
  const samples = [...world.context.metrics.executionOverhead.samples()];
  return samples.find(({ suffix }) => suffix === "_count")?.value ?? 0;
}

test("commands that sleep on all the output they may hold do not take execute from another organization", async () => {
  const leave = new AbortController();
  const sleeping = Array.from({ length: 24 }, () =>
    run(greedy, `hold ${LARGEST_BYTES} never`, leave.signal).then(
      (response) => response.status,
      () => "left" as const,
    ),
  );
  await eventually(() => gateOf("never").waiting === 24, "all have printed");
  expect((await run(greedy, "echo hi")).status).toBe(200);
  expect((await run(other, "echo hi")).status).toBe(200);
  expect((await run(other, `flood ${LARGEST_BYTES}`)).status).toBe(200);
  leave.abort();
  const ends = await Promise.all(sleeping);
  // Those beyond its share were told so, and not one of them waits for memory.
  expect(new Set(ends)).toEqual(new Set([503, "left"]));
  await eventually(
    async () => (await run(greedy, `flood ${LARGEST_BYTES}`)).status === 200,
    "its share is its own again",
  );
});

test("24 large answers beside another organization's stream neither end it nor kill its command", async () => {
  await using control = await startControl(world);
  const response = await fetch(control.url + other.path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${other.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command: "hold 0 stream" }),
  });
  if (response.body === null) throw new Error("an answer without a body");
  const reading = promisify(execFile)(process.execPath, [
    client,
    control.url + greedy.path,
    greedy.token,
    `hold ${LARGEST_BYTES} answers`,
    "24",
  ]);
  await eventually(() => gateOf("answers").waiting === 24, "all have printed");
  gateOf("answers").open();
  const answers = JSON.parse((await reading).stdout) as Read[];
  const large = answers.filter(({ status }) => status === 200);
  expect(large.length).toBeGreaterThanOrEqual(7);
  for (const { bytes, whole } of large) {
    expect(whole).toBe(true);
    // A zero is six characters in JSON.
    expect(bytes).toBeGreaterThan(6 * LARGEST_BYTES);
  }
  const refused = answers.filter(({ status }) => status === 503);
  expect(large.length + refused.length).toBe(24);
  gateOf("stream").open();
  const events: string[] = [];
  for await (const { event } of readEvents(response.body)) if (event !== "keepalive") events.push(event);
  expect(events).toEqual(["start", "exit"]);
});

test("an answer whose client left before it could begin gives its memory back", async () => {
  const leave = new AbortController();
  // A connection of control's is cut that has a transaction and is at rest for seconds, as this one may be on a busy machine.
  const lockers = openForMigration(world.databaseUrl);
  onTestFinished(() => lockers.destroy());
  const left = await lockers.transaction().execute(async (transaction) => {
    // A command is answered when its event is in the audit log.
    await sql`lock table audit_events in exclusive mode`.execute(transaction);
    const runs = Array.from({ length: 7 }, () =>
      run(other, `hold ${LARGEST_BYTES} brief`, leave.signal).catch(() => undefined),
    );
    await eventually(() => gateOf("brief").waiting === 7, "all have printed");
    await eventually(async () => (await waitingForLocks(transaction)) >= 1, "the log waits");
    const before = ended();
    gateOf("brief").open();
    await eventually(() => ended() === before + 7, "all have ended");
    leave.abort();
    return Promise.all(runs);
  });
  expect(left).toEqual(Array.from({ length: 7 }, () => undefined));
  await eventually(
    async () => (await run(other, `flood ${LARGEST_BYTES}`)).status === 200,
    "there is room again",
  );
});
