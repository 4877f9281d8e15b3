// Secrets that requests get on their way: a request with one beside a request of a name without, through a
// name proxy of its own, from this process to a server of this process. No guest and no rule is between them.

import { spawn, type ChildProcess } from "node:child_process";
import { createHash, generateKeyPairSync } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, createServer, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import { authorityCertificate, leafCertificate } from "@skerry/contract/certificates/x509";
import { answerTo, readQuestion } from "../packages/host/src/names/dns-message.ts";
import { authorityOf } from "../packages/host/src/names/vm-authority.ts";
import {
  proxyPorts,
  type NamePolicy,
  type NameProxySettings,
} from "../packages/host/src/network/name-proxy-protocol.ts";
import { nameProxyFlags } from "../packages/host/src/network/name-proxy.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const program = join(import.meta.dirname, "../dist/host.js");
const INJECTED = "injected.example";
const SPLICED = "spliced.example";
/** Loopback addresses of this chapter alone. */
const [PROXY, SITE] = ["127.79.255.1", "127.79.255.2"];
const FIRST_PORT = 47_053;
const BODY_BYTES = 100_000_000;
const VMS = 100;
const MIB = 1_024 * 1_024;
const UID = 65_500;

const until = new Date(Date.now() + 86_400_000);
const newPair = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const authority = newPair();
const trusted = authorityCertificate(authority, { name: "bench", until });
const guestOf = (number: number): string => `127.79.0.${number + 1}`;
const injectionOf = (number: number) => ({
  vm: `sbx_${number}`,
  seed: createHash("sha256").update(String(number)).digest("hex"),
  values: { API_KEY: "correct-horse-battery-staple" },
});

const policyOf = (number: number): NamePolicy => ({
  ...{ mode: "deny_all", allow_domains: ["*.example"], deny_domains: [], never: [], deny_cidrs: [] },
  ...{ private_networks: [], open_cidrs: [], mark: 1, injection: injectionOf(number) },
  inject: [{ host: INJECTED, secret: "API_KEY", header: "Authorization", format: "Bearer {}" }],
});

export async function measureInject({ scale }: Bench): Promise<Measure[]> {
  await using stack = new AsyncDisposableStack();
  const proxy = await startProxy(stack);
  await startSite(stack);
  const own = new Series({
    what: `memory of the proxy's own with ${VMS} VMs, a connection each`,
    unit: "MiB",
    bar: "≤ 64",
  });
  const whole = new Series({
    what: "… with the pages of Node's file, which all servers share",
    unit: "MiB",
    bar: "–",
  });
  const growth = new Series({ what: "… of its own, more than without them", unit: "MiB", bar: "–" });
  const before = await memoryMib(proxy.pid, "RssAnon");
  for (const number of range(VMS)) await newClient(stack, INJECTED, number)("/");
  own.add(await memoryMib(proxy.pid, "RssAnon"));
  whole.add(await memoryMib(proxy.pid, "VmRSS"));
  growth.add((own.samples[0] ?? 0) - before);
  const ms = (what: string, bar = "–") => new Series({ what, unit: "ms", bar });
  const requests = { [SPLICED]: ms("request, spliced"), [INJECTED]: ms("request with a secret") };
  const more = ms("request with a secret, more than the spliced one in its turn", "median ≤ 1.5");
  const rate = (what: string, bar = "–") => new Series({ what, unit: "MB/s", bar });
  const bodies = { [SPLICED]: rate("100 MB, spliced"), [INJECTED]: rate("100 MB, with a secret") };
  const part = new Series({
    what: "100 MB with a secret, part of the spliced rate",
    unit: "×",
    bar: "median ≥ 0.6",
  });
  const clients = { [SPLICED]: newClient(stack, SPLICED, 0), [INJECTED]: newClient(stack, INJECTED, 0) };
  for (const client of Object.values(clients)) await client("/");
  const inTurns = async (
    round: number,
    once: (name: typeof INJECTED | typeof SPLICED) => Promise<number>,
  ) => {
    const names = round % 2 === 0 ? ([SPLICED, INJECTED] as const) : ([INJECTED, SPLICED] as const);
    const [first, second] = [await once(names[0]), await once(names[1])];
    return round % 2 === 0 ? { spliced: first, injected: second } : { spliced: second, injected: first };
  };
  for (const round of range(scale.executeRounds)) {
    const took = await inTurns(round, async (name) => {
      const startedMs = performance.now();
      await clients[name]("/");
      const tookMs = performance.now() - startedMs;
      requests[name].add(tookMs);
      return tookMs;
    });
    more.add(took.injected - took.spliced);
  }
  for (const round of range(scale.bulkRounds)) {
    const rates = await inTurns(round, async (name) => {
      const startedMs = performance.now();
      const bytes = await clients[name]("/large");
      const rateMb = bytes / 1_000 / (performance.now() - startedMs);
      bodies[name].add(rateMb);
      return rateMb;
    });
    part.add(rates.injected / rates.spliced);
  }
  return [...Object.values(requests), more, ...Object.values(bodies), part, own, whole, growth].map(
    ({ measure }) => measure,
  );
}

/** A guest's kept connection: resolves with the bytes of an answer. */
function newClient(stack: AsyncDisposableStack, name: string, number: number) {
  const ca = name === INJECTED ? authorityOf(injectionOf(number)) : trusted;
  const agent = stack.adopt(
    new Agent({ keepAlive: true, maxSockets: 1, ca, servername: name, localAddress: guestOf(number) }),
    (one) => one.destroy(),
  );
  const port = proxyPorts(FIRST_PORT).tls;
  return async (path: string): Promise<number> => {
    const asked = request({ host: PROXY, port, path, agent, headers: { host: name } });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    if (answer.statusCode !== 200) throw new Error(`the proxy answered ${answer.statusCode}`);
    let bytes = 0;
    for await (const piece of answer as AsyncIterable<Buffer>) bytes += piece.length;
    return bytes;
  };
}

async function startSite(stack: AsyncDisposableStack): Promise<void> {
  const large = Buffer.alloc(BODY_BYTES, "a text that is not the secret ");
  const contexts = new Map(
    [INJECTED, SPLICED].map((name) => {
      const { privateKey, publicKey } = newPair();
      const leaf = { issuer: "bench", subject: name, name: { dns: name }, publicKey, until };
      const cert = leafCertificate(authority, { ...leaf, purposes: ["server"] });
      const key = privateKey.export({ type: "pkcs8", format: "pem" });
      return [name, createSecureContext({ key, cert })];
    }),
  );
  const sockets = new Set<Socket>();
  const site = createServer(
    { SNICallback: (name, done) => done(null, contexts.get(name)) },
    (asked, response) => void response.end(asked.url === "/large" ? large : "ok"),
  );
  site.on("connection", (socket: Socket) => sockets.add(socket));
  site.listen(443, SITE);
  await once(site, "listening");
  stack.defer(() => {
    site.close();
    for (const socket of sockets) socket.destroy();
  });
}

/** The process that hosts run, with a name server that leads every name to the site. */
async function startProxy(stack: AsyncDisposableStack): Promise<ChildProcess> {
  const folder = await mkdtemp("/tmp/skerry-bench-inject-");
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const names = createSocket("udp4");
  names.on("message", (query, { address, port }) => {
    const question = readQuestion(query);
    if (question !== undefined)
      names.send(answerTo(question, 0, { addresses: [SITE], ttlS: 60 }), port, address);
  });
  names.bind(0, "127.0.0.1");
  await once(names, "listening");
  stack.defer(() => void names.close());
  await writeFile(join(folder, "ca.pem"), trusted);
  const settings: NameProxySettings = {
    ...{ identity: "bench", address: PROXY, port: FIRST_PORT, uid: UID, socket: join(folder, "names.sock") },
    servers: [{ address: "127.0.0.1", port: names.address().port }],
    extraCa: { path: join(folder, "ca.pem"), digest: "" },
  };
  const child = spawn(process.execPath, [...nameProxyFlags, program, "names", JSON.stringify(settings)], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {},
  });
  stack.defer(async () => {
    const ended = once(child, "exit");
    if (child.exitCode === null && child.kill("SIGKILL")) await ended;
  });
  const control = await dial(settings.socket);
  stack.defer(() => void control.destroy());
  for (const number of range(VMS)) {
    const set = { guest: guestOf(number), policy: policyOf(number), isNew: true };
    control.write(`${JSON.stringify({ id: number, set })}\n`);
    await once(control, "data");
  }
  return child;
}

async function dial(path: string): Promise<Socket> {
  for (const endMs = performance.now() + 15_000; ; await sleep(50)) {
    const socket = connect(path);
    try {
      await once(socket, "data");
      return socket;
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
  }
}

async function memoryMib(pid: number | undefined, kind: "RssAnon" | "VmRSS"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return (Number(new RegExp(String.raw`${kind}:\s+(\d+)`).exec(status)?.[1]) * 1_024) / MIB;
}
