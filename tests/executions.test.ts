// Commands that run on when their reader goes, in real microVMs: what they print is never lost and never comes twice, whoever is killed.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Execution, ExecutionList } from "@skerry/contract/vms/execution";
import type { ExecuteEvent } from "@skerry/sdk";
import { readEvents } from "../packages/sdk/src/http/event-stream.ts";
import { createSandbox, destroySandbox, execute, refusal } from "./support/api.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";
import {
  call,
  nothingWaits,
  serverPid,
  startPlatform,
  until,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";

const WINDOW_BYTES = 1024 * 1024;

let platform: Platform;
let vm: string;
let id: string;

// Its host and its control plane are killed, so it is its own.
beforeAll(async () => {
  platform = await startPlatform({ assets: inject("assets"), env: nothingWaits });
  ({ id } = await createSandbox(platform, { template: "base", timeout: "30m" }));
  vm = `/v1/sandboxes/${id}`;
});
afterAll(async () => {
  await destroySandbox(platform, id);
  await platform.stop();
});

async function json<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await call(platform, method, path, body === undefined ? {} : { body });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  return JSON.parse(text) as T;
}

const detach = (command: string, more: object = {}): Promise<Execution> =>
  json("POST", `${vm}/execute`, { command, detach: true, ...more });

interface Event {
  readonly event: string;
  readonly position: number;
  readonly data: Record<string, unknown>;
}

/** What a client gets of an execution until it leaves. */
async function* follow(execution: string, query = "", signal?: AbortSignal): AsyncGenerator<Event> {
  const init = signal === undefined ? {} : { signal };
  const response = await call(platform, "GET", `${vm}/executions/${execution}/stream${query}`, init);
  if (response.status !== 200 || response.body === null) throw new Error(await response.text());
  for await (const { event, id: number, data } of readEvents(response.body))
    yield { event, position: Number(number), data: JSON.parse(data) as Record<string, unknown> };
}

/** Bytes as they are. */
function send(path: string, body: string): Promise<Response> {
  const headers = { authorization: `Bearer ${platform.token}` };
  return fetch(platform.apiUrl + path, { method: "POST", headers, body });
}

const bytesOf = ({ data }: Event): Buffer => Buffer.from(String(data["data"]), "base64");

test("a detached command runs on, is listed, followed by several readers, and ended by a signal", async () => {
  const started = await detach(
    "trap 'echo bye; exit 7' TERM; echo hello; echo oops >&2; while :; do sleep 0.1; done",
  );
  expect(started).toMatchObject({ status: "running", detached: true, exit: null });
  const listed = await json<ExecutionList>("GET", `${vm}/executions`);
  expect(listed.items.map((one) => one.id)).toContain(started.id);
  const readers = [0, 1].map(async () => {
    const events: Event[] = [];
    for await (const event of follow(started.id)) events.push(event);
    return events;
  });
  await until("it has said hello", async () => {
    const { position } = await json<Execution>("GET", `${vm}/executions/${started.id}`);
    return position === 11;
  });
  await json("POST", `${vm}/executions/${started.id}/kill`);
  for (const events of await Promise.all(readers)) {
    const out = events.filter(({ event }) => event === "stdout").map((event) => bytesOf(event).toString());
    expect(out.join("")).toBe("hello\nbye\n");
    expect(events.at(-1)).toMatchObject({ event: "exit", data: { exit_code: 7 } });
  }
  expect(await json("GET", `${vm}/executions/${started.id}`)).toMatchObject({ status: "exited" });
});

test("input that comes later reaches the command, and a file or a command that is not there says so at once", async () => {
  const { id: execution } = await json<Execution>("POST", `${vm}/executions`, {
    command: "cat; echo done",
    stdin_open: true,
  });
  const stdin = `${vm}/executions/${execution}/stdin`;
  expect((await send(stdin, "one\n")).status).toBe(204);
  expect((await send(`${stdin}?end=true`, "two\n")).status).toBe(204);
  const out: Buffer[] = [];
  for await (const event of follow(execution)) if (event.event === "stdout") out.push(bytesOf(event));
  expect(Buffer.concat(out).toString()).toBe("one\ntwo\ndone\n");
  await refusal(send(stdin, "x"), 409, "execution_input_closed");
  const nowhere = { command: "true", detach: true, workdir: "/no/such" };
  await refusal(call(platform, "POST", `${vm}/execute`, { body: nowhere }), 422, "workdir_not_found");
});

/** Lines that say where they are: 100 MB of them in a full run, otherwise twenty windows. */
const LINES = isFullRun ? 10_000_000 : 2_000_000;
noteSampled({ title: "MB of streams that are broken off", taken: LINES / 100_000, all: 100 });
const BEFORE_FIRST = 100_000_000;
const COUNT = `seq ${BEFORE_FIRST + 1} ${BEFORE_FIRST + LINES}`;

test("a client that breaks off and comes back in the middle of a long stream gets each byte once", async () => {
  const { id: execution } = await json<Execution>("POST", `${vm}/executions`, { command: COUNT });
  const hash = createHash("sha256");
  let position = 0;
  let breaks = 0;
  for (let exited = false; !exited;) {
    const leave = new AbortController();
    // The command does not wait before its first reader is there, so the beginning may be gone.
    try {
      for await (const event of follow(execution, `?hold=true&after=${position}`, leave.signal)) {
        if (event.event === "dropped") position = event.position;
        exited = event.event === "exit";
        if (event.event !== "stdout") continue;
        const bytes = bytesOf(event);
        expect(event.position).toBe(position + bytes.length);
        checkLines(bytes, position);
        hash.update(bytes);
        position = event.position;
        // In the middle of what is on its way.
        if (breaks < 5 && position > (breaks + 1) * 1.5 * LINES) {
          breaks += 1;
          leave.abort();
        }
      }
    } catch (error) {
      if (!leave.signal.aborted) throw error;
    }
  }
  expect([position, breaks]).toEqual([LINES * 10, 5]);
});

/** Whether these are the bytes that belong at the position, as far as whole lines tell. */
function checkLines(bytes: Buffer, position: number): void {
  const first = (10 - (position % 10)) % 10;
  for (let at = first; at + 10 <= bytes.length; at += 10 * 997) {
    const line = Number(bytes.toString("latin1", at, at + 9));
    if (line !== BEFORE_FIRST + (position + at) / 10 + 1)
      throw new Error(`position ${position + at} holds line ${line}`);
  }
}

/** Reads to the end what a reader is given. */
async function drain(reader: AsyncIterable<Event>): Promise<void> {
  for await (const event of reader) void event;
}

test("a reader that stops has the command wait, and one that does not hold it is told what it missed", async () => {
  const { id: execution } = await json<Execution>("POST", `${vm}/executions`, { command: COUNT });
  const leave = new AbortController();
  const reader = follow(execution, "?hold=true", leave.signal);
  await reader.next();
  let before = -1;
  let now = 0;
  await until("the command stands still", async () => {
    before = now;
    now = (await json<Execution>("GET", `${vm}/executions/${execution}`)).position;
    return now === before && now > 0;
  });
  expect(now).toBeLessThan(LINES * 10);
  leave.abort();
  await expect(drain(reader), "what had arrived, and then the end").rejects.toThrow();
  await until("it goes on by itself", async () => {
    const { status } = await json<Execution>("GET", `${vm}/executions/${execution}`);
    return status === "exited";
  });
  const events: Event[] = [];
  for await (const event of follow(execution)) events.push(event);
  expect(events[1]).toMatchObject({ event: "dropped", data: { from: 0, to: LINES * 10 - WINDOW_BYTES } });
  const kept = Buffer.concat(events.filter(({ event }) => event === "stdout").map(bytesOf));
  checkLines(kept, LINES * 10 - WINDOW_BYTES);
  expect(kept).toHaveLength(WINDOW_BYTES);
});

test.each(["host", "control"] as const)(
  "a command and its output survive the kill of the %s, and its reader goes on",
  async (server) => {
    const { id: execution } = await detach("for i in $(seq 300); do echo $i; sleep 0.05; done");
    const lines: string[] = [];
    let position = 0;
    const read = async (): Promise<boolean> => {
      for await (const event of follow(execution, `?after=${position}`)) {
        position = event.position;
        if (event.event === "stdout") lines.push(bytesOf(event).toString());
        if (event.event === "exit") return true;
      }
      return false;
    };
    const reading = read().catch(() => false);
    await until("it prints", async () => lines.length > 3);
    const killed = await serverPid(platform, server);
    process.kill(killed, "SIGKILL");
    await untilReplaced(platform, server, killed);
    // The connection to control ends with it; that to the host control makes anew.
    if (server === "host") expect(await reading).toBe(true);
    else {
      await reading;
      await until("control serves", async () =>
        call(platform, "GET", vm).then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
      expect(await read()).toBe(true);
    }
    expect(lines.join("")).toBe(Array.from({ length: 300 }, (_, i) => `${i + 1}\n`).join(""));
  },
);

test("a command of the client's goes on over the kill of control, and its output is whole", async () => {
  const killed = await serverPid(platform, "control");
  let printed = "";
  let exit: ExecuteEvent | undefined;
  for await (const event of platform.client.sandboxes.executeStream(
    id,
    "for i in $(seq 300); do echo $i; sleep 0.05; done; exit 7",
    {
      timeout: "0s",
    },
  )) {
    if (event.type === "exit") exit = event;
    else if (printed === "") process.kill(killed, "SIGKILL");
    if (event.type !== "exit") printed += Buffer.from(event.data).toString();
  }
  await untilReplaced(platform, "control", killed);
  expect(printed).toBe(Array.from({ length: 300 }, (_, i) => `${i + 1}\n`).join(""));
  expect(exit).toMatchObject({ type: "exit", exit_code: 7 });
});

test("a command whose client has gone ends after its time to come back, and not before", async () => {
  const leave = new AbortController();
  const response = await call(platform, "POST", `${vm}/execute`, {
    body: { command: "echo $$; sleep 300", timeout: "5m", reattach: "4s" },
    headers: { accept: "text/event-stream" },
    signal: leave.signal,
  });
  let execution = "";
  for await (const { event, data } of readEvents(response.body as AsyncIterable<Uint8Array<ArrayBuffer>>)) {
    if (event === "start") execution = (JSON.parse(data) as Execution).id;
    if (event === "stdout") break;
  }
  leave.abort();
  expect(await json("GET", `${vm}/executions/${execution}`)).toMatchObject({
    status: "running",
    reattach: "4s",
  });
  await until("it was ended", async () => {
    const now = await json<Execution>("GET", `${vm}/executions/${execution}`);
    return now.exit?.signal === "SIGKILL";
  });
});

test("a command of an answer in one piece is no execution, and dies with its client as before", async () => {
  const before = await json<ExecutionList>("GET", `${vm}/executions`);
  expect(await execute(platform, id, { command: "echo plain" })).toMatchObject({ stdout: "plain\n" });
  expect(await json<ExecutionList>("GET", `${vm}/executions`)).toEqual(before);
});
