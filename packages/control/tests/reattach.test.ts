// A client whose connection breaks in the middle of a command, with a whole control plane and the SDK.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { REATTACH_MAX_MS } from "@skerry/contract/bounds";
import { Skerry, SkerryConnectionError, type ExecuteEvent } from "@skerry/sdk";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const between = new Set<Socket>();
/** What control has sent on the way to the client, in bytes, and where it stops; the rest never arrives. */
let passedBytes = 0;
let cutAtBytes = Infinity;
const proxy = createServer((client) => {
  const server = connect(Number(new URL(world.url).port), "127.0.0.1");
  for (const socket of [client, server]) {
    between.add(socket);
    socket
      .on("error", () => undefined)
      .once("close", () => {
        between.delete(socket);
        client.destroy();
        server.destroy();
      });
  }
  client.pipe(server);
  server.on("data", (bytes: Buffer) => {
    const passed = bytes.subarray(0, Math.max(0, cutAtBytes - passedBytes));
    passedBytes += passed.length;
    if (passed.length === bytes.length) return void client.write(passed);
    cutAtBytes = Infinity;
    client.end(passed);
  });
});

let skerry: Skerry;
let id: string;
beforeEach(async () => {
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  passedBytes = 0;
  cutAtBytes = Infinity;
  const { port } = proxy.address() as AddressInfo;
  skerry = new Skerry({ baseUrl: `http://127.0.0.1:${port}`, token: world.token });
  ({ id } = await world.createSandbox({ timeout: "1h" }));
});
afterEach(async () => {
  proxy.close();
  cut();
  world.host.executions.all.clear();
});

function cut(): void {
  for (const socket of between) socket.destroy();
}

/** What came so far; `done` resolves at the end. */
function reading(
  command: string,
  options: object,
): { readonly events: ExecuteEvent[]; readonly done: Promise<void> } {
  const events: ExecuteEvent[] = [];
  const done = (async () => {
    for await (const event of skerry.sandboxes.executeStream(id, command, options)) events.push(event);
  })();
  done.catch(() => undefined); // awaited by the test
  return { events, done };
}

const textOf = (events: readonly ExecuteEvent[]): string =>
  events.map((event) => (event.type === "exit" ? "" : Buffer.from(event.data).toString())).join("");

test("a stream goes on by itself each time its connection is cut, and no byte is lost or comes twice", async () => {
  const { events, done } = reading("forever", { timeout: "0s" });
  await eventually(() => world.host.executions.all.size === 1, "it runs");
  const execution = world.host.executions.last;
  for (const piece of ["one ", "two ", "three "]) {
    execution.write(piece);
    await eventually(() => textOf(events).endsWith(piece), "it comes");
    cut();
  }
  execution.write("four", "stderr");
  execution.end(3);
  await done;
  expect(textOf(events)).toBe("one two three four");
  expect(events.at(-2)).toMatchObject({ type: "stderr" });
  expect(events.filter(({ type }) => type === "exit")).toEqual([expect.objectContaining({ exit_code: 3 })]);
  expect(world.host.executions.all.size).toBe(1);
});

test("a connection that ends in the middle of an event loses nothing of it", async () => {
  const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at}`).join("\n");
  for (const bytes of [3_000, 3_001, 7_777, 20_000]) {
    passedBytes = 0;
    cutAtBytes = bytes;
    const { events, done } = reading("forever", { reattach: "30s" });
    await eventually(() => world.host.executions.all.size === 1, "it runs");
    const execution = world.host.executions.last;
    for (let at = 0; at < lines.length; at += 1_000) execution.write(lines.slice(at, at + 1_000));
    execution.end();
    await done;
    expect(cutAtBytes, "it was cut").toBe(Infinity);
    expect(textOf(events)).toBe(lines);
    world.host.executions.all.clear();
  }
});

test("a client goes on whose command has all of its input, and one whose input was cut off kills it and says so", async () => {
  const read = reading("forever", { stdin: "input" });
  await eventually(() => world.host.executions.all.size === 1, "it runs");
  const execution = world.host.executions.last;
  await eventually(() => execution.isInputRead, "it has read");
  execution.write("one ");
  await eventually(() => textOf(read.events) === "one ", "it comes");
  cut();
  execution.write("two");
  execution.end();
  await read.done;
  expect(textOf(read.events)).toBe("one two");
  expect(execution.signals).toEqual([]);

  const { events, done } = reading("deaf", { stdin: "input" });
  await eventually(() => world.host.executions.all.size === 2, "it runs");
  const deaf = world.host.executions.last;
  deaf.write("one");
  await eventually(() => textOf(events) === "one", "it comes");
  cut();
  await expect(done).rejects.toThrow(SkerryConnectionError);
  expect(deaf.signals).toEqual([9]);
});

test("a client that leaves kills its command at once, also after its connection was cut", async () => {
  for (const isCut of [false, true]) {
    const leave = new AbortController();
    const { events, done } = reading("forever", { signal: leave.signal });
    await eventually(() => world.host.executions.all.size === 1, "it runs");
    const execution = world.host.executions.last;
    expect(execution.command).toMatchObject({ reattach_ms: REATTACH_MAX_MS });
    execution.write("one");
    await eventually(() => textOf(events) === "one", "it comes");
    if (isCut) {
      cut();
      execution.write("two");
      await eventually(() => textOf(events) === "onetwo", "it goes on");
    }
    leave.abort(new Error("enough"));
    await expect(done).rejects.toThrow("enough");
    expect(execution.signals).toEqual([9]);
    world.host.executions.all.clear();
  }
});

test("a command that is not there any more is told as that", async () => {
  const { events, done } = reading("forever", { reattach: "30s" });
  await eventually(() => world.host.executions.all.size === 1, "it runs");
  world.host.executions.last.write("one");
  await eventually(() => textOf(events) === "one", "it comes");
  world.host.executions.all.clear();
  cut();
  await expect(done).rejects.toMatchObject({ code: "execution_not_found" });
});
