// Deploys in a row under load of all kinds: requests over HTTP/1.1 and HTTP/2, WebSockets, requests of ten
// seconds, and uploads. A request that is not answered as it should be is a failure, with its reason.

import { request, type IncomingMessage } from "node:http";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeployOver } from "@skerry/contract/apps/deploy-status";
import { freePort, startPlatform, type Platform } from "../tests/support/platform.ts";
import { assets, settings, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const APP = "load";
const HOST = `${APP}.localhost`;
const UPLOAD = Buffer.alloc(20 * 1024 * 1024, "x");
const DEPLOY_MS = 300_000;
const LOOK_EVERY_MS = 100;
const WEBSOCKET_WORDS = 20;
const SCALES = 3;
const ROLLBACKS = 5;

/** Answers its version, a request of ten seconds, the length of an upload, and echoes what is upgraded. */
const SERVER = `
import http.server, sys, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    def do_GET(self):
        if self.path == "/echo":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n")
            self.wfile.flush()
            while data := self.connection.recv(4096): self.connection.sendall(data)
            self.close_connection = True
            return
        if self.path == "/slow": time.sleep(10)
        self.say(sys.argv[1])
    def do_POST(self):
        left = size = int(self.headers["Content-Length"])
        while left: left -= len(self.rfile.read(min(left, 65536)))
        self.say(str(size))
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("", 8080), H).serve_forever()
`;

export async function measureAppDeploys({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  const port = await freePort();
  const platform = await startPlatform({
    assets,
    env: { ...settings, SKERRY_EDGE_HTTP: `127.0.0.1:${port}` },
  });
  try {
    await platform.client.apps.create({ name: APP });
    await deploy(platform, "v0");
    const deploys = new Series({
      what: "a deploy under load, until it is live",
      unit: "ms",
      bar: "none fails",
    });
    const load = new Load(port);
    const kinds = load.begin();
    for (const round of range(scale.appDeploys)) await deploys.time(() => deploy(platform, `v${round + 1}`));
    await load.end();
    return [deploys.measure, ...kinds.map(({ measure }) => measure), ...(await measureQuiet(platform))];
  } finally {
    await platform.stop();
  }
}

/** Without load. */
async function measureQuiet({ client }: Platform): Promise<Measure[]> {
  const back = new Series({ what: "a rollback", unit: "ms", bar: "median ≤ 3,000" });
  for (const _round of range(ROLLBACKS))
    await back.time(async () => {
      const { release } = await client.apps.get(APP);
      const { id } = await client.apps.deploy(APP, { release: Number(release) - 1 });
      await untilLive(client, id);
    });
  const up = new Series({ what: "scale 1 → 5", unit: "ms", bar: "median ≤ 5,000" });
  for (const _round of range(SCALES)) {
    await up.time(() => scaleTo(client, 5));
    await scaleTo(client, 1);
  }
  return [back.measure, up.measure];
}

type Client = Platform["client"];

async function scaleTo(client: Client, count: number): Promise<void> {
  await client.apps.update(APP, { scale: { web: count } });
  await until(async () => {
    const { instances } = await client.apps.get(APP);
    return instances.length === count && instances.every(({ state }) => state === "serving");
  });
}

async function deploy({ client }: Platform, version: string): Promise<void> {
  const { id } = await client.apps.deploy(APP, {
    template: "base",
    processes: { web: { command: `exec python3 -c '${SERVER}' ${version}` } },
    services: [{ group: "web", port: 8080, check: { path: "/", port: 8080, interval: "1s" } }],
    watch: "0s",
  });
  await untilLive(client, id);
}

async function untilLive(client: Client, id: string): Promise<void> {
  await until(async () => {
    const { status, reason } = await client.apps.getDeploy(APP, id);
    if (status !== "live" && isDeployOver(status)) throw new Error(`${status}: ${reason?.message}`);
    return status === "live";
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + DEPLOY_MS;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error("it never came true");
    await sleep(LOOK_EVERY_MS);
  }
}

interface Kind {
  readonly what: string;
  readonly clients: number;
  readonly pauseMs: number;
  readonly once: () => Promise<void>;
}

class Load {
  readonly #port: number;
  readonly #clients: Promise<void>[] = [];
  #isOver = false;
  #session: ClientHttp2Session | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  begin(): Series[] {
    return this.#kinds().map(({ what, clients, pauseMs, once }) => {
      const series = new Series({ what: `… ${what}`, unit: "ms", bar: "none fails" });
      for (const _client of range(clients)) this.#clients.push(this.#ask(series, { pauseMs, once }));
      return series;
    });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    this.#session?.close();
  }

  async #ask(series: Series, { pauseMs, once }: Pick<Kind, "pauseMs" | "once">): Promise<void> {
    while (!this.#isOver) {
      await series.time(once);
      await sleep(pauseMs);
    }
  }

  #kinds(): Kind[] {
    const isVersion = (said: string): boolean => /^v\d+$/.test(said);
    return [
      { what: "a request over HTTP/1.1", clients: 3, pauseMs: 20, once: () => this.#get("/", isVersion) },
      { what: "a request over HTTP/2", clients: 2, pauseMs: 20, once: () => this.#getHttp2("/", isVersion) },
      { what: "a request of 10 s", clients: 2, pauseMs: 0, once: () => this.#get("/slow", isVersion) },
      {
        ...{ what: "a request of 10 s over HTTP/2", clients: 1, pauseMs: 0 },
        once: () => this.#getHttp2("/slow", isVersion),
      },
      { what: "an upload of 20 MB", clients: 1, pauseMs: 500, once: () => this.#upload() },
      { what: "a WebSocket of 4 s", clients: 2, pauseMs: 0, once: () => this.#echo() },
    ];
  }

  async #get(path: string, isRight: (said: string) => boolean): Promise<void> {
    const answer = await this.#send(path, "GET");
    expectRight(answer.statusCode, await text(answer), isRight);
  }

  async #upload(): Promise<void> {
    const answer = await this.#send("/upload", "POST", UPLOAD);
    expectRight(answer.statusCode, await text(answer), (said) => said === String(UPLOAD.length));
  }

  #send(path: string, method: string, body?: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request({ host: "127.0.0.1", port: this.#port, path, method, headers: { host: HOST } });
      call.once("response", resolve).once("error", reject).end(body);
    });
  }

  /** One session for all of them, and another one where the proxy has ended that. */
  async #getHttp2(path: string, isRight: (said: string) => boolean): Promise<void> {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed)
      this.#session = connectHttp2(`http://127.0.0.1:${this.#port}`).on("error", () => undefined);
    const stream = this.#session.request({ ":authority": HOST, ":path": path });
    const status = new Promise<number>((resolve, reject) => {
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
      stream.once("error", reject);
      stream.once("close", () => reject(new Error("it was closed without an answer")));
    });
    expectRight(await status, await text(stream), isRight);
  }

  /** Each word comes back before the next one goes. */
  async #echo(): Promise<void> {
    const headers = { host: HOST, connection: "upgrade", upgrade: "echo" };
    const call = request({ host: "127.0.0.1", port: this.#port, path: "/echo", headers }).end();
    const socket = await new Promise<Socket>((resolve, reject) => {
      call.once("upgrade", (_answer, opened) => resolve(opened as Socket));
      call.once("response", ({ statusCode }) => reject(new Error(`answered ${statusCode}`)));
      call.once("error", reject);
    });
    const broken = new Promise<never>((_resolve, reject) => {
      socket.once("close", () => reject(new Error("it was cut"))).once("error", reject);
    });
    broken.catch(() => undefined);
    for (const word of range(WEBSOCKET_WORDS)) {
      const back = new Promise<string>((resolve) => socket.once("data", (piece) => resolve(String(piece))));
      socket.write(`word ${word}`);
      const said = await Promise.race([back, broken]);
      if (said !== `word ${word}`) throw new Error(`it said ${JSON.stringify(said)}`);
      await sleep(200);
    }
    socket.destroy();
  }
}

function expectRight(status: number | undefined, said: string, isRight: (said: string) => boolean): void {
  if (status !== 200 || !isRight(said)) throw new Error(`answered ${status}: ${said.slice(0, 80)}`);
}
