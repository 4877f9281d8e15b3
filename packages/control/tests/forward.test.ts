// TCP connections to a port of a guest over one WebSocket: with the client of the SDK, with a fake host, and with clients that misbehave.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { Skerry, SkerryApiError, type Forward } from "@skerry/sdk";
import type { PortConnection } from "../src/host-client/port-connection.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const guest = new GuestPorts(world);
const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

function client(token = world.token): Skerry {
  return new Skerry({ baseUrl: world.url, token });
}

async function forwardTo(
  port: number,
  { id = guest.id, token, onError }: { id?: string; token?: string; onError?: (error: unknown) => void } = {},
): Promise<Forward> {
  const forward = await client(token).sandboxes.forward(id, port, {
    ...{ localPort: 0, onConnectionError: (error: unknown) => onError?.(error) },
  });
  open.push(forward);
  return forward;
}

function connectTo({ localPort, localAddress }: Forward): Socket {
  const socket = connect({ port: localPort, host: localAddress, allowHalfOpen: true });
  socket.on("error", () => undefined);
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  await eventually(() => socket.closed, "the connection is over");
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const echo = (connection: PortConnection) => void connection.pipe(connection);

test("twenty connections at once go through one WebSocket, and each gets its own bytes", async () => {
  const port = guest.listen(echo);
  const forward = await forwardTo(port);
  expect(forward.localAddress).toBe("127.0.0.1");
  const before = world.host.ports.connections;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const bytes = randomBytes(1_000_000);
      const socket = connectTo(forward);
      socket.end(bytes);
      expect(sha256(await buffer(socket))).toBe(sha256(bytes));
    }),
  );
  expect(world.host.ports.connections - before).toBe(20);
  await eventually(() => world.host.ports.open === 0, "all of them have ended");
});

test("one direction can end before the other, from both sides", async () => {
  const asked = guest.listen((connection) => {
    void buffer(connection).then((all) => connection.end(`got ${all.length}`));
  });
  const first = connectTo(await forwardTo(asked));
  first.end("12345");
  expect((await buffer(first)).toString()).toBe("got 5");
  let heard = "";
  const talks = guest.listen((connection) => {
    connection.end("bye");
    connection.on("data", (bytes: Buffer) => (heard += bytes.toString()));
  });
  const second = connectTo(await forwardTo(talks));
  expect((await buffer(second)).toString()).toBe("bye");
  second.end("heard you");
  await eventually(() => heard === "heard you", "the guest hears what comes after its own end");
});

test("a connection that is not read holds up no other, and what waits for it is bounded", async () => {
  let written = 0;
  const floods = guest.listen((connection) => {
    const block = Buffer.alloc(64 * 1024);
    const more = (): void => {
      if (connection.destroyed) return;
      connection.write(block, () => {
        written += block.length;
        more();
      });
    };
    connection.once("data", (bytes: Buffer) =>
      bytes.toString() === "flood" ? more() : connection.end("ok"),
    );
  });
  const forward = await forwardTo(floods);
  const slow = connectTo(forward);
  slow.write("flood");
  slow.pause();
  let before = -1;
  await eventually(() => {
    const stands = written > 0 && written === before;
    before = written;
    return stands;
  }, "the guest waits");
  // What the client takes, what waits for credit, and the buffers of the sockets in between.
  expect(written).toBeLessThan(16 * 1024 * 1024);
  const quick = connectTo(forward);
  quick.end("hello");
  expect((await buffer(quick)).toString()).toBe("ok");
  slow.destroy();
  await eventually(() => world.host.ports.open === 0, "it has left");
});

test("a guest that does not read has its client wait, and no other", async () => {
  const connections: PortConnection[] = [];
  const deaf = guest.listen((connection) => {
    connections.push(connection);
    if (connections.length > 1) connection.pipe(connection);
  });
  const forward = await forwardTo(deaf);
  const sender = connectTo(forward);
  await eventually(() => connections.length === 1, "it is there");
  const bytes = randomBytes(20_000_000);
  sender.end(bytes);
  const other = connectTo(forward);
  other.end("hello");
  expect((await buffer(other)).toString()).toBe("hello");
  expect(sender.writableFinished).toBe(false);
  const [first] = connections;
  expect(sha256(await buffer(first as PortConnection))).toBe(sha256(bytes));
  first?.end();
  await buffer(sender);
});

test("where nothing listens the connection is reset with the reason, and the forward goes on", async () => {
  const errors: unknown[] = [];
  const forward = await forwardTo(3_999, { onError: (error) => errors.push(error) });
  const refused = connectTo(forward);
  await closed(refused);
  await eventually(() => errors.length === 1, "it is told");
  expect(errors[0]).toMatchObject({
    code: "port_not_listening",
    message: "Nothing listens on port 3999 in the sandbox.",
  });
  world.host.ports.listen(3_999, echo);
  const socket = connectTo(forward);
  socket.end("now");
  expect((await buffer(socket)).toString()).toBe("now");
});

test("a connection that the guest cuts off is reset here, too", async () => {
  const errors: unknown[] = [];
  const cuts = guest.listen((connection) => connection.once("data", () => connection.destroy()));
  const socket = connectTo(await forwardTo(cuts, { onError: (error) => errors.push(error) }));
  socket.write("hello");
  await closed(socket);
  await eventually(() => errors.length === 1, "it is told");
  expect(errors[0]).toMatchObject({ code: "guest_failed" });
});

test("a forward ends with its sandbox, and says why", async () => {
  const { id } = await world.createSandbox({ timeout: "1h" });
  const port = guest.listen(echo);
  const forward = await forwardTo(port, { id });
  const socket = connectTo(forward);
  socket.write("hello");
  await once(socket, "data");
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  await expect(forward.closed).rejects.toMatchObject({ code: "sandbox_not_running" });
  await expect(once(connectTo(forward), "connect")).rejects.toThrow("ECONNREFUSED");
  await expect(forwardTo(port, { id })).rejects.toMatchObject({ code: "sandbox_not_running" });
});

test("a paused sandbox is resumed by the next connection, and its forward waits for that", async () => {
  const { id } = await world.createSandbox({ timeout: "1h", mode: "persistent" });
  const port = guest.listen(echo);
  const forward = await forwardTo(port, { id });
  expect((await world.call("POST", `/v1/sandboxes/${id}/pause`)).status).toBe(200);
  const socket = connectTo(forward);
  socket.end("wake up");
  expect((await buffer(socket)).toString()).toBe("wake up");
  expect((await world.call("GET", `/v1/sandboxes/${id}`)).body).toMatchObject({ status: "running" });
});

test("who may not execute gets no forward, with the reason", async () => {
  const port = guest.listen(echo);
  const refusal = async (token: string, id = guest.id) =>
    client(token)
      .sandboxes.forward(id, port, { localPort: 0 })
      .then(
        () => "forwarded",
        (error: unknown) => (error instanceof SkerryApiError ? error.code : error),
      );
  const reader = await world.call("POST", "/v1/auth/tokens", {
    body: { name: "reader", scopes: ["sandboxes:read"] },
  });
  expect(await refusal(String(reader.body["token"]))).toBe("forbidden");
  expect(await refusal("sk_wrong")).toBe("unauthorized");
  expect(await refusal(world.token, guest.id.replace(/.{4}$/, "0000"))).toBe("sandbox_not_found");
});

test("a token that is revoked ends its forward", async () => {
  const port = guest.listen(echo);
  const minted = await world.call("POST", "/v1/auth/tokens", { body: { name: "short" } });
  const forward = await forwardTo(port, { token: String(minted.body["token"]) });
  const socket = connectTo(forward);
  socket.write("hello");
  await once(socket, "data");
  await world.call("DELETE", `/v1/auth/tokens/${String(minted.body["id"])}`);
  await expect(forward.closed).rejects.toMatchObject({ code: "unauthorized" });
  await eventually(() => world.host.ports.open === 0, "the guest is left alone");
});

test("a port that another program has is said, and listening ends with the forward", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: localPort } = server.address() as AddressInfo;
  const port = guest.listen(echo);
  await expect(client().sandboxes.forward(guest.id, port, { localPort })).rejects.toMatchObject({
    code: "cannot_listen",
    message: expect.stringContaining("another program listens there"),
  });
  server.close();
  const forward = await forwardTo(port);
  const socket = connectTo(forward);
  socket.write("hello");
  await once(socket, "data");
  await forward.close();
  await forward.closed;
  await closed(socket);
  expect(socket.errored).toMatchObject({ code: "ECONNRESET" });
  await expect(once(connectTo(forward), "connect")).rejects.toThrow("ECONNREFUSED");
  await eventually(() => world.host.ports.open === 0, "the guest is left alone");
});
