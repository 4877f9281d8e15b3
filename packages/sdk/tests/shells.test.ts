// A terminal that its program lets go of, before it is open and afterwards.

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Skerry } from "../src/skerry.ts";
import { shellServer } from "./support/shell-server.ts";

let server: Awaited<ReturnType<typeof shellServer>>;
let client: Skerry;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);

beforeEach(async () => {
  server = await shellServer();
  client = new Skerry({ baseUrl: server.baseUrl, token: "sk_test" });
  uncaught.length = 0;
  process.on("uncaughtException", note);
});
afterEach(async () => {
  process.off("uncaughtException", note);
  vi.unstubAllGlobals();
  await server[Symbol.asyncDispose]();
});

async function output(shell: Awaited<ReturnType<typeof open>>): Promise<string> {
  const pieces = [];
  for await (const { data } of shell) pieces.push(data);
  return Buffer.concat(pieces).toString();
}

const open = (signal?: AbortSignal) => client.sandboxes.shell("sbx_0", { command: "true", signal });
/** Until what was begun before has come to its end. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 100));

// Node 20 has no WebSocket of its own, and the one of `ws` ends the process where nothing listens for its
// errors.
test.each([
  ["of the engine", undefined],
  ["of ws", "ws"],
] as const)(
  "a shell that is closed before it is open, with the WebSocket %s, ends quietly",
  async (_which, own) => {
    if (own !== undefined) vi.stubGlobal("WebSocket", undefined);
    const closed = await open();
    closed.close();
    const abort = new AbortController();
    const aborted = await open(abort.signal);
    abort.abort();
    {
      await using _left = await open();
    }
    const later = await open();
    await Promise.resolve();
    later.close();
    expect(await Promise.all([closed, aborted, later].map(output))).toEqual(["", "", ""]);
    await settled();
    expect(uncaught).toEqual([]);
  },
);

test("a signal that many shells share keeps a listener for none that has ended or was closed", async () => {
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, "abort").length;
  const shell = await open(signal);
  expect(listeners()).toBeGreaterThan(0);
  expect(await output(shell)).toBe("hello\n");
  expect(shell.exitCode).toBe(7);
  await vi.waitFor(() => expect(listeners()).toBe(0));
  const other = await open(signal);
  other.close();
  expect(listeners()).toBe(0);
});
