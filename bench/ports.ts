// HTTP to what listens in a guest: through the API, in turns with the raw agent channel of a VM that the bare script has started. What the
// bare one takes is the guest's own time.

import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { create, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { attempt, range, Series } from "./series.ts";

const BYTES = 100_000_000;
const PORT = 8_000;
const WARM_UP = 5;

/** Answers with as many bytes as the path says. */
const SERVER = `
import http.server
BLOCK = bytes(64 * 1024)
class Bytes(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = len(BLOCK)
    def log_message(self, *args): pass
    def do_GET(self):
        left = int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left > 0:
            self.wfile.write(BLOCK[:left])
            left -= min(left, len(BLOCK))
http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), Bytes).serve_forever()
`;
const LISTENS = `until python3 -c 'import socket; socket.create_connection(("127.0.0.1", ${PORT}))' 2>/dev/null; do :; done`;
const SERVE = `ip link set lo up; python3 -c '${SERVER}' >/dev/null 2>&1 & ${LISTENS}`;

export async function measurePorts(bench: Bench): Promise<Measure[]> {
  const sandbox = await create(bench.platform);
  const floor = await bench.floor();
  await floor.prepare(1);
  const bare = await floor.restore();
  try {
    const { exit_code: exitCode } = await sandbox.execute(SERVE);
    if (exitCode !== 0) throw new Error("nothing listens in the sandbox");
    await bare.channel.execute(SERVE);
    const ask = await bare.channel.connect(PORT);
    return [...(await measureDelay(bench, sandbox, ask)), ...(await measureRate(bench, sandbox, ask))];
  } finally {
    await bare.end();
    await sandbox.destroy();
  }
}

/** A GET over the raw channel; resolves with the length of its answer. */
type Ask = (path: string) => Promise<number>;

async function measureDelay(bench: Bench, sandbox: Sandbox, ask: Ask): Promise<Measure[]> {
  const raw = new Series({ what: "GET from a port, raw agent channel", unit: "ms", bar: "–" });
  const through = new Series({ what: "GET from a port", unit: "ms", bar: "–" });
  const added = new Series({
    what: "GET from a port: more than over the raw channel, in the same turn",
    unit: "ms",
    bar: "median ≤ 5",
  });
  for (const _ of range(WARM_UP)) await get(bench, sandbox, 1);
  for (const _ of range(bench.scale.streamRounds)) {
    const ours = await through.time(() => get(bench, sandbox, 1));
    const own = await raw.time(() => ask("/1"));
    if (ours !== undefined && own !== undefined)
      added.add((through.samples.at(-1) ?? Number.NaN) - (raw.samples.at(-1) ?? Number.NaN));
  }
  return [raw, through, added].map(({ measure }) => measure);
}

async function measureRate(bench: Bench, sandbox: Sandbox, ask: Ask): Promise<Measure[]> {
  const rate = (what: string, bar: string): Series => new Series({ what, unit: "MB/s", bar });
  const raw = rate("100 MB from a port, raw agent channel", "–");
  const through = rate("100 MB from a port", `median ≥ 0.8 × ${raw.measure.what}`);
  for (const _ of range(bench.scale.bulkRounds)) {
    await attempt([through], () => timed(through, () => get(bench, sandbox, BYTES)));
    await attempt([raw], () => timed(raw, () => ask(`/${BYTES}`)));
  }
  return [raw, through].map(({ measure }) => measure);
}

async function timed(into: Series, work: () => Promise<number>): Promise<void> {
  const startedMs = performance.now();
  const bytes = await work();
  if (bytes !== BYTES) throw new Error(`${bytes} bytes came`);
  into.add(BYTES / 1_000 / (performance.now() - startedMs));
}

/** Resolves with how many bytes came. */
async function get({ platform }: Bench, { id }: Sandbox, bytes: number): Promise<number> {
  const headers = { authorization: `Bearer ${platform.token}` };
  const answer = await fetch(`${platform.apiUrl}/v1/sandboxes/${id}/ports/${PORT}/${bytes}`, { headers });
  if (answer.status !== 200 || answer.body === null) throw new Error(await answer.text());
  let got = 0;
  for await (const chunk of answer.body) got += chunk.byteLength;
  return got;
}
