// The Connect protocol of E2B's clients on the wire: in both encodings, by a client that is not ours, and by bytes that no client sends.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { Process, Signal, type StreamInputRequestSchema } from "../src/e2b/wire/process_pb.js";
import { VM_STREAMS_MAX } from "@skerry/contract/bounds";
import { createE2bSandbox, headersInto, rpcClient, type E2bSandbox, nativeId } from "./support/e2b.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let sandbox: E2bSandbox;
beforeAll(async () => {
  sandbox = await createE2bSandbox(world);
});

const shell = (command: string) => ({ cmd: "/bin/bash", args: ["-l", "-c", command] });

function codeOf(error: unknown): Code | undefined {
  return error instanceof ConnectError ? error.code : undefined;
}

describe.each([
  ["binary", true],
  ["JSON", false],
] as const)("in %s", (_name, isBinary) => {
  const client = () => rpcClient(world, Process, { sandbox, isBinary });

  test("a process tells its number, its output and its end", async () => {
    const events = [];
    for await (const { event } of client().start({ process: shell("binary") })) events.push(event?.event);
    expect(events.map((event) => event?.case)).toEqual(["start", "data", "data", "end"]);
    const [, first, second, end] = events;
    const bytes = (event: typeof first) => (event?.case === "data" ? event.value.output.value : undefined);
    expect([...(bytes(first) ?? [])]).toEqual([0x66, 0xff, 0x00, 0xc3]);
    expect([...(bytes(second) ?? [])]).toEqual([0xa9]);
    expect(end?.case === "end" && [end.value.exitCode, end.value.exited, end.value.status]).toEqual([
      ...[0, true, "exit status 0"],
    ]);
  });

  test("a process has arguments and variables as long as Linux takes them, and none longer", async () => {
    const run = async (command: string, envs: Record<string, string> = {}) => {
      for await (const { event } of client().start({ process: { ...shell(command), envs } }))
        if (event?.event.case === "end") return event.event.value.status;
      return undefined;
    };
    const longest = `echo ${"x".repeat(131_071)}`.slice(0, 131_071);
    expect(await run(longest, { A: "a".repeat(100_000) })).toBe("exit status 0");
    expect(world.host.executions.last.command.program?.at(-1)).toBe(longest);
    const codeFor = (...args: Parameters<typeof run>) => run(...args).then((status) => status, codeOf);
    expect(await codeFor(`${longest}x`)).toBe(Code.InvalidArgument);
    expect(await codeFor("echo", { A: "a".repeat(131_070) })).toBe(Code.InvalidArgument);
    expect(await codeFor(longest, { A: "a".repeat(130_000) })).toBe(Code.InvalidArgument);
  });

  test("a process that a signal has ended is told in the words that clients compare", async () => {
    let status: unknown;
    for await (const { event } of client().start({ process: shell("oom") }))
      if (event?.event.case === "end") ({ status } = event.event.value);
    expect(status).toBe("signal: killed");
  });

  test("a process is named by a tag as well, takes input in a stream, and ends", async () => {
    const tag = `tag of ${String(isBinary)}`;
    const text = new TextEncoder();
    const heard: string[] = [];
    const run = (async () => {
      for await (const { event } of client().start({ process: shell("repeat"), tag, stdin: true }))
        if (event?.event.case === "data")
          heard.push(Buffer.from(event.event.value.output.value ?? []).toString());
    })();
    const process = { selector: { case: "tag", value: tag } } as const;
    const listed = async () => (await client().list({})).processes.find((one) => one.tag === tag);
    await eventually(async () => (await listed()) !== undefined, "the process is listed");
    async function* input(): AsyncGenerator<MessageInitShape<typeof StreamInputRequestSchema>> {
      yield { event: { case: "start", value: { process } } };
      yield { event: { case: "keepalive", value: {} } };
      for (const piece of ["one ", "two"])
        yield { event: { case: "data", value: { input: inputOf(text.encode(piece)) } } };
    }
    const inputOf = (value: Uint8Array) => ({ input: { case: "stdin", value } }) as const;
    await client().streamInput(input());
    await client().update({ process, pty: { size: { cols: 90, rows: 20 } } });
    await client().sendSignal({ process, signal: Signal.SIGTERM });
    const { last } = world.host.executions;
    expect([last.sizes, last.signals]).toEqual([[[90, 20]], [15]]);
    await client().closeStdin({ process });
    await run;
    expect(heard.join("")).toBe("one two");
    await expect(client().sendInput({ process, input: inputOf(text.encode("x")) })).rejects.toSatisfy(
      (error) => codeOf(error) === Code.NotFound,
    );
  });

  test("input in a stream names its process once, and holds a place among the open streams", async () => {
    const pid = await started(client());
    const process = { selector: { case: "pid", value: pid } } as const;
    const start = { event: { case: "start", value: { process } } } as const;
    const data = {
      event: { case: "data", value: { input: { input: { case: "stdin", value: new Uint8Array(1) } } } },
    } as const;
    const send = (...messages: MessageInitShape<typeof StreamInputRequestSchema>[]) =>
      client().streamInput(streamOf(messages)).catch(codeOf);
    expect(await send(start, start)).toBe(Code.InvalidArgument);
    expect(await send(data)).toBe(Code.InvalidArgument);
    const vm = { kind: { noun: "sandbox" }, id: nativeId(sandbox.sandboxID) };
    const { openStreams } = world.context;
    using places = new DisposableStack();
    const takeAll = () => {
      for (let left = VM_STREAMS_MAX + 1; left > 0; left--)
        places.use(openStreams.take({ orgId: world.orgId }, vm));
    };
    await eventually(async () => {
      // Those of the calls before may still be open for a moment.
      expect(takeAll).toThrow("are open");
      return (await send(start)) === Code.ResourceExhausted;
    }, "a call without a place is refused");
    places.dispose();
    expect(await send(start)).toBeTypeOf("object");
    await client().closeStdin({ process });
  });

  test("a deadline ends the call, and the process by the same time", async () => {
    const failed = (async () => {
      for await (const _ of client().start({ process: shell("forever") }, { timeoutMs: 300 }));
    })().catch(codeOf);
    expect(await failed).toBe(Code.DeadlineExceeded);
    expect(world.host.executions.last.command.timeout_ms).toBeLessThanOrEqual(300);
  });

  test("a client that goes away leaves its process running, and one that comes back follows it", async () => {
    const gone = new AbortController();
    let pid = 0;
    const first = (async () => {
      for await (const { event } of client().start({ process: shell("repeat") }, { signal: gone.signal }))
        if (event?.event.case === "start") {
          ({ pid } = event.event.value);
          gone.abort();
        }
    })().catch(codeOf);
    expect(await first).toBe(Code.Canceled);
    const { last } = world.host.executions;
    await eventually(() => last.left === 1, "the reader has left");
    expect(last.isOver).toBe(false);
    const process = { selector: { case: "pid", value: pid } } as const;
    const events: unknown[] = [];
    for await (const { event } of client().connect({ process })) {
      events.push(event?.event.case);
      if (event?.event.case === "start") await client().closeStdin({ process });
    }
    expect(events).toEqual(["start", "end"]);
  });

  test.each(["cut", "gone"])(
    "a call whose host breaks off (%s) ends with an error, and does not wait",
    async (how) => {
      const heard: string[] = [];
      const failed = (async () => {
        for await (const { event } of client().start({ process: shell(how) }))
          if (event?.event.case === "data")
            heard.push(Buffer.from(event.event.value.output.value ?? []).toString());
      })().catch(codeOf);
      expect([Code.NotFound, Code.Unavailable]).toContain(await failed);
      expect(heard).toEqual(["half"]);
    },
  );

  test("a silent process keeps its client's connection alive", async () => {
    const headers = { "keepalive-ping-interval": "1" };
    for await (const { event } of client().start({ process: shell("forever") }, { headers })) {
      if (event?.event.case === "keepalive") return;
      expect(event?.event.case).toBe("start");
    }
    throw new Error("the stream ended without a keepalive");
  });

  test("what cannot be is refused: no command, no process, no such process, a user that is not there", async () => {
    const unknown = { selector: { case: "pid", value: 4_000_000 } } as const;
    const headers = { authorization: `Basic ${Buffer.from("nobody-here:").toString("base64")}` };
    const attempts: readonly (readonly [() => Promise<unknown>, Code])[] = [
      [() => client().sendSignal({ signal: Signal.SIGKILL }), Code.InvalidArgument],
      [() => client().sendSignal({ process: unknown, signal: Signal.SIGKILL }), Code.NotFound],
      [() => first(client().start({})), Code.InvalidArgument],
      [() => first(client().start({ process: shell("true") }, { headers })), Code.Unauthenticated],
    ];
    for (const [attempt, code] of attempts) expect(await attempt().catch(codeOf)).toBe(code);
  });
});

async function* streamOf<Message>(messages: readonly Message[]): AsyncGenerator<Message> {
  yield* messages;
}

/** The number of a process that repeats its input, and whose reader has gone. */
async function started(client: ReturnType<typeof rpcClient<typeof Process>>): Promise<number> {
  const gone = new AbortController();
  const events = client.start({ process: shell("repeat"), stdin: true }, { signal: gone.signal });
  for await (const { event } of events) {
    if (event?.event.case !== "start") continue;
    gone.abort();
    return event.event.value.pid;
  }
  throw new Error("the process did not start");
}

async function first<Event>(events: AsyncIterable<Event>): Promise<Event | undefined> {
  for await (const event of events) return event;
  return undefined;
}

const START = "/e2b/sandbox/process.Process/Start";

function post(path: string, type: string, body: Uint8Array, headers: Record<string, string> = {}) {
  return fetch(world.url + path, {
    method: "POST",
    headers: { ...headersInto(sandbox), "content-type": type, ...headers },
    body: body as Uint8Array<ArrayBuffer>,
  });
}

function envelope(flags: number, length: number, content: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, content]);
}

test.each([
  ["garbage", Buffer.from("this is no envelope at all")],
  ["an envelope that ends too soon", envelope(0, 1_000, Buffer.from("{}"))],
  ["half of an envelope's head", Buffer.from([0, 0])],
  ["an envelope that says that it is of 4 GiB", envelope(0, 0xff_ff_ff_ff, Buffer.alloc(0))],
  ["one that says that it is compressed", envelope(1, 2, Buffer.from("{}"))],
  ["JSON that is none", envelope(0, 3, Buffer.from("{a}"))],
  ["nothing", Buffer.alloc(0)],
])(
  "%s in the place of an envelope is refused at the end of the stream, and starts nothing",
  async (_what, body) => {
    const before = world.host.executions.all.size;
    const answer = await post(START, "application/connect+json", body);
    const text = Buffer.from(await answer.arrayBuffer());
    expect([answer.status, text[0]]).toEqual([200, 2]);
    const { error } = JSON.parse(text.subarray(5).toString()) as { error: { code: string } };
    expect(["invalid_argument", "resource_exhausted", "internal", "unimplemented"]).toContain(error.code);
    expect(world.host.executions.all.size).toBe(before);
  },
);

test("a process that runs on when its control plane stops is followed on another one, and its client hears why", async () => {
  const server = await buildServer(world.context);
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.app.server.address() as AddressInfo;
  const there = rpcClient({ url: `http://127.0.0.1:${port}` }, Process, { sandbox });
  let pid = 0;
  let stopped: Promise<void> | undefined;
  const failure = await (async () => {
    for await (const { event } of there.start({ process: shell("repeat") }))
      if (event?.event.case === "start") {
        ({ pid } = event.event.value);
        stopped = server.stop(2_000);
      }
  })().catch((error: unknown) => error);
  await stopped;
  expect(codeOf(failure)).toBe(Code.Aborted);
  expect(String(failure)).toContain("The control plane is shutting down");
  const process = { selector: { case: "pid", value: pid } } as const;
  for await (const { event } of rpcClient(world, Process, { sandbox }).connect({ process }))
    if (event?.event.case === "start") await rpcClient(world, Process, { sandbox }).closeStdin({ process });
});

test("a message of a call that answers once may not be of any size, nor of any type", async () => {
  const list = START.replace("Start", "SendInput");
  const large = await post(list, "application/json", Buffer.alloc(5 * 1024 * 1024, 0x20));
  expect(large.status).toBe(429);
  expect(((await large.json()) as { code: string }).code).toBe("resource_exhausted");
  expect((await post(list, "text/plain", Buffer.from("{}"))).status).toBe(415);
  expect((await post(`${START}X`, "application/json", Buffer.from("{}"))).status).toBe(404);
});
