// Apps that misbehave, on real microVMs behind the real proxy. What one of them does fails its own deploy,
// says why, and is felt neither by the release before nor by its neighbour on the same host.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { Deploy } from "../packages/sdk/src/skerry.ts";
import { freePort, startPlatform, until, type Platform } from "./support/platform.ts";
import { run } from "./support/run.ts";

/** A server that answers its first word, and misbehaves as the second word or a path says. */
// A proxy that ends a connection resets it, which is no error to tell.
const PROGRAM = `
import http.server, os, signal, socket, sys, threading
word, fault = sys.argv[1:3]
print(word, "has begun", flush=True)
address, port = "", 8080
if fault == "crash":
    print("no table orders", flush=True)
    os._exit(7)
if fault == "fork":
    while True:
        try: os.fork()
        except OSError: pass
if fault == "loopback": address = "127.0.0.1"
if fault == "elsewhere": port = 3000
if fault == "stubborn": signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault in ("silent", "garbage"):
    listener = socket.create_server(("", 8080))
    held = []
    while True:
        peer, _ = listener.accept()
        held.append(peer)
        if fault == "garbage":
            peer.sendall(b"\\\\0\\\\1\\\\2 no HTTP at all\\\\r\\\\n\\\\r\\\\n")
            peer.shutdown(socket.SHUT_WR)
def fill():
    with open("/filling", "wb", 0) as file:
        most = os.statvfs("/").f_bavail * os.statvfs("/").f_frsize - 2**24
        os.posix_fallocate(file.fileno(), 0, most)
        file.seek(most)
        try:
            while True: file.write(b"x" * 65536)
        except OSError as error: return os.strerror(error.errno)
def pour():
    for _ in range(9000): print("flood " * 170)
    print("the flood is over", flush=True)
def flood():
    threading.Thread(target=pour).start()
    return "flooded"
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/die": os._exit(3)
        text = {"/fill": fill, "/flood": flood}.get(self.path, lambda: word)().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words): pass
class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *words): pass
Server((address, port), H).serve_forever()
`;

const port = await freePort();
let platform: Platform;

const release = (word: string, fault = "none", more: object = {}) => ({
  template: "base",
  processes: { web: { command: `exec python3 -c '${PROGRAM}' ${word} ${fault}` } },
  services: [
    {
      group: "web",
      port: 8080,
      check: { path: "/", port: 8080, interval: "1s", timeout: "3s", failures: 2, grace: "15s" },
    },
  ],
  ...{ watch: "0s", drain_timeout: "5s", ...more },
});

async function ask(app: string, path = "/"): Promise<string> {
  const words = ["-s", "-m", "60", "-w", " %{http_code}", "-H", `Host: ${app}.localhost`];
  return run("curl", ...words, `http://127.0.0.1:${port}${path}`).catch((error: unknown) => String(error));
}

async function over(app: string, { id }: Deploy): Promise<Deploy> {
  let deploy: Deploy | undefined;
  await until("the deploy is over", async () => {
    deploy = await platform.client.apps.getDeploy(app, id);
    return deploy.finished_at !== null;
  });
  if (deploy === undefined) throw new Error("no deploy");
  return deploy;
}

const deployed = async (app: string, body: ReturnType<typeof release>) =>
  over(app, await platform.client.apps.deploy(app, body));

beforeAll(async () => {
  platform = await startPlatform({
    assets: inject("assets"),
    env: { SKERRY_EDGE_HTTP: `127.0.0.1:${port}` },
  });
  const { apps } = platform.client;
  for (const name of ["shop", "neighbour"]) await apps.create({ name });
  const ends = await Promise.all([
    deployed("neighbour", release("well")),
    deployed("shop", release("first")),
  ]);
  expect(ends.map(({ status }) => status)).toEqual(["live", "live"]);
});
afterAll(() => platform.stop());

/** The neighbour is asked all the time. */
let load: { isOver: boolean; readonly seen: Map<string, number>; readonly asking: Promise<void> };
beforeEach(() => {
  const seen = new Map<string, number>();
  const state = { isOver: false, seen, asking: Promise.resolve() };
  state.asking = (async () => {
    while (!state.isOver) {
      const answer = await ask("neighbour");
      seen.set(answer, (seen.get(answer) ?? 0) + 1);
      await sleep(50);
    }
  })();
  load = state;
});
afterEach(async () => {
  load.isOver = true;
  await load.asking;
  expect([...load.seen.keys()]).toEqual(["well 200"]);
});

const only = async (word: string): Promise<void> => {
  await until(`only what serves ${word} is left`, async () => {
    const { instances } = await platform.client.apps.get("shop");
    return (
      instances.length === 1 && instances[0]?.state === "serving" && (await ask("shop")) === `${word} 200`
    );
  });
};

test.each([
  ["silent", "never answers", /timed out after 3000 ms/],
  ["garbage", "answers garbage", /the answer is not HTTP/],
  [
    "loopback",
    "listens on 127.0.0.1 alone",
    /listens on 127\.0\.0\.1:8080 only.*Have it listen on 0\.0\.0\.0/,
  ],
  ["elsewhere", "listens on another port", /nothing listens on the port.*It listens on 3000/],
  ["fork", "forks without end", /^The check of web\.\d+ fails: |^web\.\d+ ended: /],
] as const)("a release that %s fails its deploy and says so: it %s", async (fault, _what, told) => {
  const { status, reason } = await deployed("shop", release("bad", fault, { timeout: "3m" }));
  expect([status, reason?.code]).toEqual(["failed", "instance_failed"]);
  expect(reason?.message).toMatch(told);
  expect(await ask("shop")).toBe("first 200");
  await only("first");
});

test("a release that crashes at its start fails its deploy with its exit code and its last lines", async () => {
  const { status, reason } = await deployed("shop", release("bad", "crash"));
  expect([status, reason?.code, reason?.exit_code]).toEqual(["failed", "instance_failed", 7]);
  expect(reason?.last_lines.join("\n")).toMatch(/bad has begun[^]*no table orders/);
  expect(await ask("shop")).toBe("first 200");
});

/** Bytes of the largest console in the host's folder. */
async function consoleBytes(): Promise<number> {
  const files = await readdir(platform.state, { recursive: true });
  const sizes = files
    .filter((file) => /console/.test(file))
    .map(async (file) => (await stat(join(platform.state, file)).catch(() => undefined))?.size ?? 0);
  return Math.max(...(await Promise.all(sizes)));
}

test("one that fills its disk and floods its log goes on answering, its log is bounded, and its neighbour's is whole", async () => {
  const { apps, machines } = platform.client;
  expect((await deployed("shop", release("second", "stubborn"))).status).toBe("live");
  await only("second");
  expect(await ask("shop", "/fill")).toBe("No space left on device 200");
  expect(await ask("shop")).toBe("second 200");
  const [neighbour] = (await apps.get("neighbour")).instances;
  const id = neighbour?.machine_id ?? "";
  expect((await machines.execute(id, "echo kept >/kept && cat /kept")).stdout).toBe("kept\n");
  // The flood has more than a console keeps.
  expect(await consoleBytes()).toBeGreaterThan(1_000_000);
  expect(await ask("shop", "/flood")).toBe("flooded 200");
  await until("the flood is in its log", async () => {
    const { lines } = await apps.logs("shop", { lines: 5 });
    return lines.some(({ line }) => line === "the flood is over");
  });
  expect(await consoleBytes()).toBeLessThan(9_000_000);
  const { lines } = await apps.logs("neighbour", { grep: "begun" });
  expect(lines.map(({ line }) => line)).toEqual(["well has begun"]);
});

/** Processes that name the machine in their arguments. */
async function qemusOf(id: string): Promise<number> {
  const all = await run("ps", "-ww", "-e", "-o", "args");
  return all.split("\n").filter((args) => args.includes("qemu") && args.includes(id)).length;
}

test("one that ignores SIGTERM is ended after its grace, and nothing of it is left", async () => {
  const [stubborn] = (await platform.client.apps.get("shop")).instances;
  const id = stubborn?.machine_id ?? "";
  expect(await qemusOf(id)).toBeGreaterThan(0);
  expect((await deployed("shop", release("third"))).status).toBe("live");
  await only("third");
  await until("its machine is gone", async () =>
    platform.client.machines.get(id).then(
      ({ status }) => status === "destroyed",
      () => true,
    ),
  );
  expect(await qemusOf(id)).toBe(0);
});

test("a release that passes its check and then dies is rolled back by itself", async () => {
  const [before = ""] = (await ask("shop")).split(" ");
  const bad = await deployed("shop", release("fourth", "none", { watch: "5m" }));
  expect(bad.status).toBe("live");
  await only("fourth");
  await ask("shop", "/die");
  await only(before);
  const { status, reason } = await platform.client.apps.getDeploy("shop", bad.id);
  expect([status, reason?.code, reason?.exit_code]).toEqual(["rolled_back", "instance_failed", 3]);
  expect(reason?.last_lines.join("\n")).toContain("fourth has begun");
});
