// Services that are plain TCP behind a real HAProxy.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import { edge, gone, listen, nextVersion, options } from "./support/edge-rig.ts";
import { freePort, until } from "./support/edge-instances.ts";

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** Says its name first, as a database does, and then what it is told. */
async function speaker(vm: string): Promise<EdgeInstance> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.write(`${vm}\n`);
    socket.pipe(socket);
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return { vm, execution_id: "exe_1", port: (server.address() as AddressInfo).port, state: "serving" };
}

const first = await freePort();
const range = { first, last: first + 1 };

const serve = (instances: readonly EdgeInstance[], ports: readonly number[] = [first]) =>
  edge.apply({
    version: nextVersion(),
    backends: [{ id: "app_1:db:tcp", protocol: "tcp", instances: [...instances] }],
    routes: [],
    tcp: { ...range, ports: ports.map((port) => ({ port, backend: "app_1:db:tcp" })) },
  });

/** A connection with all that came in. */
function dial(port: number) {
  const socket: Socket = connect(port, "127.0.0.1");
  let said = "";
  socket.setEncoding("utf8").on("data", (piece: string) => void (said += piece));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { socket, closed, said: () => said };
}

test("a port leads to instances as they are, one that leads nowhere is closed, and nothing is reloaded", async () => {
  const one = await speaker("one");
  expect((await serve([one])).fault).toBeNull();
  const open = dial(first);
  await until("it has spoken first", () => open.said() === "one\n");
  open.socket.write("GET / HTTP/1.1\r\n");
  await until("nothing is read into it", () => open.said().endsWith("GET / HTTP/1.1\r\n"));
  await dial(range.last).closed;
  // The next instance takes new connections, and the old one keeps its own until it is told to go.
  const other = await speaker("other");
  const state = await serve([{ ...one, state: "draining" }, other]);
  expect(state.instances).toEqual(
    expect.arrayContaining([expect.objectContaining({ vm: "one", status: "draining", sessions: 1 })]),
  );
  const next = dial(first);
  await until("the next one answers", () => next.said() === "other\n");
  open.socket.write("still there\n");
  await until("the old connection goes on", () => open.said().endsWith("still there\n"));
  expect((await edge.traffic()).instances.find(({ vm }) => vm === "one")?.requests).toBe(1);
  await serve([other]);
  await open.closed;
  next.socket.write("and I\n");
  await until("the new one was not disturbed", () => next.said().endsWith("and I\n"));
  // A second port is a line of a map.
  await serve([other], [first, range.last]);
  const second = dial(range.last);
  await until("the second port answers", () => second.said() === "other\n");
  for (const { socket } of [next, second]) socket.destroy();
});

test("an instance that has ended gets no connection, and one address cannot take all", async () => {
  const one = await speaker("one");
  await serve([one]);
  gone.add("one");
  await sleep(700);
  await dial(first).closed;
  gone.delete("one");
  const back = dial(first);
  await until("it is tried", () => back.said() === "one\n" || back.socket.destroyed);
  const many = Array.from({ length: options.perAddress + 50 }, () => dial(first));
  await until(
    "those over the bound are closed",
    () => many.filter(({ socket }) => socket.destroyed).length >= 50,
  );
  expect(many.filter(({ said }) => said() !== "").length).toBeLessThanOrEqual(options.perAddress);
  for (const { socket } of [back, ...many]) socket.destroy();
  expect(listen).toContain("127.0.0.1");
});
