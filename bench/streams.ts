// What a command writes, as it comes: through the API, in turns with the raw agent channel of a VM that the bare script has started.

import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { create, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const BYTES = 100_000_000;
const PRINTED = `head -c ${BYTES} /dev/zero`;
const PROTOCOL = "v5.channel.k8s.io";
/** The numbers of its channels. */
const [STDIN, STDOUT] = [0, 1];
/** Of a VM; more of them only wait for its one CPU. */
const WARM_UP = 5;

export async function measureStreams(bench: Bench): Promise<Measure[]> {
  const sandbox = await create(bench.platform);
  try {
    return [...(await measureDelays(bench, sandbox)), ...(await measureRates(bench, sandbox))];
  } finally {
    await sandbox.destroy();
  }
}

async function measureDelays(bench: Bench, sandbox: Sandbox): Promise<Measure[]> {
  const first = new Series({
    what: "first byte of a stream, after its program wrote it",
    unit: "ms",
    bar: "median ≤ 15",
  });
  const echo = new Series({
    what: "keystroke until its echo, in a terminal",
    unit: "ms",
    bar: "median ≤ 15",
  });
  const aheadMs = await guestClockAheadMs(bench, sandbox);
  for (const _ of range(bench.scale.streamRounds)) {
    await attempt([first], async () => {
      for await (const event of sandbox.executeStream("date +%s%6N")) {
        if (event.type !== "stdout") continue;
        const writtenMs = Number(Buffer.from(event.data).toString()) / 1_000 - aheadMs;
        first.add(Date.now() - writtenMs);
      }
    });
  }
  const terminal = await Connection.open(bench, sandbox, { command: "cat", tty: "true" });
  try {
    for (const round of range(WARM_UP + bench.scale.streamRounds)) {
      await attempt([echo], async () => {
        const startedMs = performance.now();
        terminal.type("x");
        await terminal.heard(1);
        if (round >= WARM_UP) echo.add(performance.now() - startedMs);
      });
    }
  } finally {
    terminal.close();
  }
  return [first.measure, echo.measure];
}

/** By its answer to the question that came back soonest, which it has read in the middle of that time, or nearly. */
async function guestClockAheadMs(bench: Bench, sandbox: Sandbox): Promise<number> {
  const clock = `python3 -uc "import sys, time\nfor line in sys.stdin: print('%017.6f' % time.time())"`;
  const connection = await Connection.open(bench, sandbox, { command: clock, tty: "false" });
  let best = { tookMs: Infinity, aheadMs: 0 };
  try {
    for (const _ of range(WARM_UP + bench.scale.streamRounds)) {
      const [askedMs, sinceMs] = [Date.now(), performance.now()];
      connection.type("\n");
      const guestMs = Number(await connection.heard("1234567890.123456\n".length)) * 1_000;
      const tookMs = performance.now() - sinceMs;
      if (tookMs < best.tookMs) best = { tookMs, aheadMs: guestMs - (askedMs + tookMs / 2) };
    }
  } finally {
    connection.close();
  }
  return best.aheadMs;
}

async function measureRates(bench: Bench, sandbox: Sandbox): Promise<Measure[]> {
  const rate = (what: string, bar: string): Series =>
    new Series({ what: `stdout of 100 MB, ${what}`, unit: "MB/s", bar });
  const raw = rate("raw agent channel", "–");
  const [byWebSocket, byEvents] = [
    rate("WebSocket", `median ≥ 0.8 × ${raw.measure.what}`),
    rate("events", `median ≥ 0.6 × ${raw.measure.what}`),
  ];
  const floor = await bench.floor();
  await floor.prepare(1);
  const bare = await floor.restore();
  try {
    for (const _ of range(bench.scale.bulkRounds)) {
      await attempt([byWebSocket], () => timed(byWebSocket, () => printedByWebSocket(bench, sandbox)));
      await attempt([raw], () => timed(raw, () => bare.channel.print(PRINTED)));
      await attempt([byEvents], () => timed(byEvents, () => printedByEvents(sandbox)));
    }
  } finally {
    await bare.end();
  }
  return [raw, byWebSocket, byEvents].map(({ measure }) => measure);
}

async function timed(into: Series, work: () => Promise<number>): Promise<void> {
  const startedMs = performance.now();
  const bytes = await work();
  if (bytes !== BYTES) throw new Error(`${bytes} bytes came`);
  into.add(BYTES / 1_000 / (performance.now() - startedMs));
}

async function printedByWebSocket(bench: Bench, sandbox: Sandbox): Promise<number> {
  const connection = await Connection.open(bench, sandbox, { command: PRINTED, tty: "false" });
  await connection.closed;
  return connection.bytes;
}

async function printedByEvents(sandbox: Sandbox): Promise<number> {
  let bytes = 0;
  for await (const event of sandbox.executeStream(PRINTED))
    if (event.type === "stdout") bytes += event.data.length;
  return bytes;
}

/** A command at a WebSocket. */
class Connection {
  readonly #socket: WebSocket;
  readonly closed: Promise<void>;
  #waits: { readonly bytes: number; readonly done: (text: string) => void } | undefined;
  #text = "";
  #isText = false;
  bytes = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    this.closed = new Promise((resolve) => socket.addEventListener("close", () => resolve()));
    socket.addEventListener("message", ({ data }) => this.#take(new Uint8Array(data as ArrayBuffer)));
  }

  /** Resolves when the command runs. */
  static async open(
    { platform }: Bench,
    sandbox: Sandbox,
    query: Readonly<Record<string, string>>,
  ): Promise<Connection> {
    const path = `/v1/sandboxes/${sandbox.id}/exec?${new URLSearchParams(query).toString()}`;
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(platform.token).toString("base64url")}`;
    const socket = new WebSocket(platform.apiUrl.replace(/^http/, "ws") + path, [PROTOCOL, token]);
    const connection = new Connection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error("no WebSocket was opened")));
    });
    return connection;
  }

  type(text: string): void {
    this.#socket.send(Buffer.concat([Buffer.of(STDIN), Buffer.from(text)]));
  }

  /** The next so many bytes of its output. */
  heard(bytes: number): Promise<string> {
    this.#isText = true;
    return new Promise((done) => {
      this.#waits = { bytes, done };
      this.#tell();
    });
  }

  close(): void {
    this.#socket.close();
  }

  #take(message: Uint8Array): void {
    if (message[0] !== STDOUT) return;
    this.bytes += message.length - 1;
    if (!this.#isText) return;
    this.#text += Buffer.from(message.subarray(1)).toString("latin1");
    this.#tell();
  }

  #tell(): void {
    const waits = this.#waits;
    if (waits === undefined || this.#text.length < waits.bytes) return;
    this.#waits = undefined;
    const text = this.#text.slice(0, waits.bytes);
    this.#text = this.#text.slice(waits.bytes);
    waits.done(text);
  }
}
