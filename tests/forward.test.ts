// TCP connections to what really listens in a microVM, by the client of the SDK and by the command line.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { spawn, type ChildProcess } from "node:child_process";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { createSandbox, destroySandbox, execute } from "./support/api.ts";
import { until } from "./support/platform.ts";
import { isFullRun, noteSampled } from "./support/sampling.ts";
import { sharedPlatform } from "./support/shared.ts";

const platform = await sharedPlatform();
const { sandboxes } = platform.client;
let sandbox: Sandbox;
const children: ChildProcess[] = [];

/** What each port does. */
const ports = { echo: 9_000, digest: 9_001, source: 9_002, nothing: 9_003 } as const;
/** 100 MB in a full run. */
const SOURCE_BYTES = isFullRun ? 100_000_000 : 20_000_000;
noteSampled({ title: "MB through a forwarded port", taken: SOURCE_BYTES / 1_000_000, all: 100 });

const SERVERS = `
import hashlib, socketserver, threading
BLOCK = bytes(range(256)) * 256

class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while True:
            piece = self.request.recv(65536)
            if not piece: return
            self.request.sendall(piece)

class Digest(socketserver.BaseRequestHandler):
    def handle(self):
        digest = hashlib.sha256()
        while True:
            piece = self.request.recv(65536)
            if not piece: break
            digest.update(piece)
        self.request.sendall(digest.hexdigest().encode())

class Source(socketserver.BaseRequestHandler):
    def handle(self):
        left = ${SOURCE_BYTES}
        while left > 0:
            self.request.sendall(BLOCK[:left])
            left -= len(BLOCK)

socketserver.ThreadingTCPServer.daemon_threads = True
socketserver.ThreadingTCPServer.request_queue_size = 64
for port, handler in ((9000, Echo), (9001, Digest), (9002, Source)):
    threading.Thread(target=socketserver.ThreadingTCPServer(("127.0.0.1", port), handler).serve_forever).start()
`;

async function newSandbox(): Promise<Sandbox> {
  const made = await createSandbox(platform, { template: "base", timeout: "30m" });
  const command = `cat > /root/servers.py <<'END'\n${SERVERS}\nEND\nsetsid python3 /root/servers.py > /tmp/servers.log 2>&1 < /dev/null &`;
  await execute(platform, made.id, { command });
  await until("the servers listen", async () => {
    const { items } = await sandboxes.ports(made.id);
    return items.filter(({ listening }) => listening).length >= 3;
  });
  return made;
}

beforeAll(async () => {
  sandbox = await newSandbox();
});
afterAll(() => destroySandbox(platform, sandbox.id));
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function connectTo(localPort: number): Socket {
  const socket = connect({ port: localPort, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  return socket;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("megabytes arrive as they were sent, there and back", async () => {
  await using there = await sandboxes.forward(sandbox.id, ports.digest, { localPort: 0 });
  const bytes = randomBytes(SOURCE_BYTES);
  const sending = connectTo(there.localPort);
  sending.end(bytes);
  expect((await buffer(sending)).toString()).toBe(sha256(bytes));
  await using back = await sandboxes.forward(sandbox.id, ports.source, { localPort: 0 });
  const reading = connectTo(back.localPort);
  reading.end();
  const block = Buffer.alloc(65_536, Buffer.from(Array.from({ length: 256 }, (_, at) => at)));
  const expected = createHash("sha256");
  for (let left = SOURCE_BYTES; left > 0; left -= block.length) expected.update(block.subarray(0, left));
  const read = await buffer(reading);
  expect([read.length, sha256(read)]).toEqual([SOURCE_BYTES, expected.digest("hex")]);
});

test("twenty connections at once are answered beside one that nobody reads", async () => {
  await using forward = await sandboxes.forward(sandbox.id, ports.echo, { localPort: 0 });
  await using flood = await sandboxes.forward(sandbox.id, ports.source, { localPort: 0 });
  const slow = connectTo(flood.localPort);
  slow.pause();
  const stuck = connectTo(forward.localPort);
  stuck.pause();
  stuck.write(randomBytes(20_000_000));
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const bytes = randomBytes(200_000);
      const socket = connectTo(forward.localPort);
      socket.end(bytes);
      expect(sha256(await buffer(socket))).toBe(sha256(bytes));
    }),
  );
  slow.destroy();
  stuck.destroy();
});

test("a port on which nothing listens resets the connection, with the reason", async () => {
  const errors: unknown[] = [];
  const onConnectionError = (error: unknown) => errors.push(error);
  await using forward = await sandboxes.forward(sandbox.id, ports.nothing, {
    localPort: 0,
    onConnectionError,
  });
  const socket = connectTo(forward.localPort);
  await until("it is reset", async () => socket.closed && errors.length === 1);
  expect(errors[0]).toMatchObject({ code: "port_not_listening" });
});

interface Listening {
  readonly address: string;
  readonly port: number;
  readonly to: number;
}

/** `skerry sandbox forward --json`, when it listens. */
async function forwarding(id: string, ...words: readonly string[]) {
  const program = join(import.meta.dirname, "../dist/skerry.js");
  const child = spawn(process.execPath, [program, "sandbox", "forward", id, ...words, "--json"], {
    env: {
      ...process.env,
      ...platform.env,
      SKERRY_API_URL: platform.apiUrl,
      SKERRY_API_TOKEN: platform.token,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const lines: Listening[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line) as Listening);
    if (lines.length === words.length) break;
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stderr }));
  return { child, lines, ended, said: () => stderr };
}

test("the command line says where it listens, goes on after an error, and ends at Ctrl-C", async () => {
  const forward = await forwarding(sandbox.id, `0:${ports.echo}`, `0:${ports.nothing}`);
  expect(forward.lines).toMatchObject([
    { address: "127.0.0.1", to: ports.echo },
    { address: "127.0.0.1", to: ports.nothing },
  ]);
  const [echo, nothing] = forward.lines;
  const refused = connectTo(nothing?.port ?? 0);
  await until("it is told", async () => refused.closed && forward.said().includes("port_not_listening"));
  const socket = connectTo(echo?.port ?? 0);
  socket.end("hello");
  expect((await buffer(socket)).toString()).toBe("hello");
  forward.child.kill("SIGINT");
  expect((await forward.ended).code).toBe(0);
});

test("with its sandbox the command ends, with the reason", async () => {
  const { id } = await newSandbox();
  const forward = await forwarding(id, `0:${ports.echo}`);
  await destroySandbox(platform, id);
  const { code, stderr } = await forward.ended;
  expect([code, JSON.parse(stderr)]).toEqual([1, expect.objectContaining({ code: "sandbox_not_running" })]);
});
