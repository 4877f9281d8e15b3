// What clients keep open is bounded: for one VM, and for all VMs of an organization.

import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ORGANIZATION_STREAMS_MAX, VM_FORWARDS_MAX, VM_STREAMS_MAX } from "@skerry/contract/bounds";
import { newId } from "@skerry/contract/ids";
import { FORWARD_PROTOCOL } from "@skerry/contract/vms/forward";
import type { Execution } from "@skerry/contract/vms/execution";
import { sandboxVms } from "../src/sandboxes/sandbox-vms.ts";
import { OpenStreams } from "../src/vms/open-streams.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);
const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one[Symbol.dispose]();
});

/** The status of the answer, and the connection where it is one. */
async function forward(port: number, token = world.token): Promise<{ status: number; socket: WebSocket }> {
  const url = `${world.url.replace("http", "ws")}/v1/sandboxes/${guest.id}/forward?port=${port}`;
  const socket = new WebSocket(url, FORWARD_PROTOCOL, { headers: { authorization: `Bearer ${token}` } });
  socket.on("error", () => undefined);
  open.push({ [Symbol.dispose]: () => socket.terminate() });
  const refused = once(socket, "unexpected-response").then(([, answer]) => {
    const { statusCode } = answer as { readonly statusCode: number };
    return statusCode;
  });
  const status = await Promise.race([refused, once(socket, "open").then(() => 101)]);
  return { status, socket };
}

test("a VM has so many forwards and no more, until one of them ends", async () => {
  const port = guest.listen(() => undefined);
  const all = await Promise.all(Array.from({ length: VM_FORWARDS_MAX }, () => forward(port)));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([101]));
  expect((await forward(port)).status).toBe(429);
  expect((await forward(port, await world.strangerToken())).status).toBe(404);
  all[0]?.socket.terminate();
  await eventually(async () => (await forward(port)).status === 101, "there is room again");
});

test("a VM has so many readers and no more, and what is refused says what to do", async () => {
  const vm = `/v1/sandboxes/${guest.id}`;
  const started = await world.call<Execution>("POST", `${vm}/executions`, { body: { command: "repeat" } });
  const stream = `${vm}/executions/${started.body.id}/stream`;
  const taken = Array.from({ length: VM_STREAMS_MAX }, () =>
    world.context.openStreams.take(world, { kind: sandboxVms, id: guest.id }),
  );
  open.push(...taken.slice(1));
  const refused = await world.call("GET", stream);
  expect(refused).toMatchObject({
    status: 429,
    body: {
      code: "too_many_streams",
      message: `${VM_STREAMS_MAX} streams of this sandbox are open.`,
      remediation: "Close some of them, and try again.",
      context: { max: VM_STREAMS_MAX },
    },
  });
  expect(refused.headers.get("retry-after")).toBe("5");
  for (const call of [
    world.call("GET", `${vm}/watch/tmp`),
    world.call("POST", `${vm}/execute`, {
      body: { command: "hello" },
      headers: { accept: "text/event-stream" },
    }),
  ])
    // oxlint-disable-next-line no-await-in-loop
    expect((await call).body).toMatchObject({ code: "too_many_streams" });
  expect((await world.call("POST", `${vm}/execute`, { body: { command: "hello" } })).status).toBe(200);
  taken[0]?.[Symbol.dispose]();
  const leaving = new AbortController();
  const followed = await fetch(world.url + stream, {
    headers: { authorization: `Bearer ${world.token}` },
    signal: leaving.signal,
  });
  expect(followed.status).toBe(200);
  expect((await world.call("GET", stream)).status).toBe(429);
  leaving.abort();
  await eventually(() => {
    try {
      world.context.openStreams.take(world, { kind: sandboxVms, id: guest.id })[Symbol.dispose]();
      return true;
    } catch {
      return false;
    }
  }, "a reader that leaves makes room");
});

test("an organization has so many of all its VMs, and takes none from another", () => {
  const streams = new OpenStreams("streams", { perVm: 2, perOrganization: 3 });
  const [one, other] = [{ orgId: newId("organization") }, { orgId: newId("organization") }];
  const ids = [newId("sandbox"), newId("sandbox"), newId("sandbox")];
  const take = (caller: { orgId: string }, at: number) =>
    streams.take(caller, { kind: sandboxVms, id: ids[at] ?? "" });
  const first = take(one, 0);
  take(one, 1);
  take(one, 1);
  expect(() => take(one, 1)).toThrow("2 streams of this sandbox are open.");
  expect(() => take(one, 2)).toThrow("3 streams of your organization are open.");
  take(other, 1); // also of a VM that it only names
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  take(one, 2);
  expect(() => take(one, 0)).toThrow("3 streams of your organization are open.");
  expect(ORGANIZATION_STREAMS_MAX).toBeGreaterThan(VM_STREAMS_MAX);
});
