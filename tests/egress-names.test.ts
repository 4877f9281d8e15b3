// Egress by name from real guests: through their slots, the name proxy of their host and this machine to sites and a name server of the
// tests' own.

import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { EgressDenial } from "@skerry/contract/vms/egress";
import { findByUid } from "../packages/host/src/vm/qemu/process.ts";
import { readConfig } from "../packages/host/src/config/config.ts";
import { clientHello } from "../packages/host/tests/support/client-hello.ts";
import { Skerry, type Sandbox } from "../packages/sdk/src/skerry.ts";
import { newStranger } from "./support/organizations.ts";
import {
  eagerServices,
  freePort,
  nothingWaits,
  serverPid,
  startPlatform,
  until,
  untilReplaced,
  type Platform,
} from "./support/platform.ts";
import { joinHost, type SecondHost } from "./support/second-host.ts";
import { dnsServer, World } from "./support/world.ts";

/** Many names share the first address, as those of a content network do. */
const [shared, other, inner] = ["203.0.113.10", "198.51.100.7", "10.77.0.5"];
const names: Readonly<Record<string, readonly string[]>> = {
  "good.example": [shared],
  "cdn.good.example": [shared],
  "evil.example": [shared],
  "other.example": [other],
  "inner.example": [inner],
  "rebound.example": [shared],
};
const allowed = ["good.example", "*.good.example", "inner.example", "rebound.example"];

const undo = new AsyncDisposableStack();
let folder: string;
let world: World;
let platform: Platform;
let second: SecondHost;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-test-names-"));
  undo.defer(() => rm(folder, { recursive: true }));
  await setNames(names);
  const env = { SKERRY_DNS_SERVERS: `${dnsServer}:53`, ...nothingWaits };
  const listen = `127.0.0.1:${await freePort()}`;
  platform = undo.adopt(
    await startPlatform({
      assets: inject("assets"),
      env: { ...env, ...eagerServices, SKERRY_HOST_LISTEN: listen },
    }),
    (started) => started.stop(),
  );
  second = await joinHost(platform, { env });
  undo.defer(() => second.stop());
  // Last, and so closed first: other files wait for it.
  const sites = join(import.meta.dirname, "support/name-sites.ts");
  world = undo.use(
    await World.open([process.execPath, "--no-warnings", sites, dnsServer, join(folder, "names.json")]),
  );
});

afterAll(() => undo.disposeAsync());

beforeEach(async () => {
  await setNames(names);
  world.arrivals.length = 0;
});

/** At once, so that no query meets half of it. */
async function setNames(all: typeof names): Promise<void> {
  await writeFile(join(folder, "new.json"), JSON.stringify(all));
  await rename(join(folder, "new.json"), join(folder, "names.json"));
}

async function create(client: Skerry, allow_domains: readonly string[]): Promise<Sandbox> {
  const sandbox = await client.sandboxes.create({
    ...{ template: "base", timeout: "1h", mode: "persistent" },
    egress: { allow_domains: [...allow_domains] },
  });
  await sandbox.upload(
    "/root/by-name.py",
    await readFile(join(import.meta.dirname, "support/by-name.py"), "utf8"),
  );
  return sandbox;
}

type Attempt = readonly [address: string, port: number, ...pieces: readonly (string | Buffer)[]];
const tls = (name: string, address = shared): Attempt => [address, 443, clientHello({ names: [name] })];
const get = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const http = (host: string, address = shared): Attempt => [address, 80, get(host)];

function attempting(attempts: readonly Attempt[], ...more: readonly string[]): string {
  const encoded = attempts.map(([address, port, ...pieces]) => [
    ...[address, port],
    pieces.map((piece) => Buffer.from(piece).toString("base64")),
  ]);
  return ["python3 /root/by-name.py", `'${JSON.stringify(encoded)}'`, ...more].join(" ");
}

/** What the guest was answered on each. */
async function attempt(sandbox: Sandbox, ...attempts: readonly Attempt[]): Promise<string[]> {
  const { stdout, stderr } = await sandbox.execute(attempting(attempts), { timeout: "2m" });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as string[];
}

/** The site at the first address as it answers to this name. */
const at = (name: string, address = shared): string => `[${address} ${name}]`;

async function denials(sandbox: Sandbox): Promise<string[]> {
  return told((await sandbox.egress()).denied);
}

function told(denied: readonly EgressDenial[]): string[] {
  return denied.map(({ rule, domain, port }) => `${rule} ${domain ?? ""} ${port}`);
}

/** Good names pass, others do not. */
async function expectNames(sandbox: Sandbox): Promise<void> {
  const [good, evil, web, evilWeb] = await attempt(
    sandbox,
    ...[tls("good.example"), tls("evil.example"), http("cdn.good.example"), http("evil.example")],
  );
  expect(good).toBe(at("good.example"));
  expect(web).toContain(at("cdn.good.example"));
  expect(evil).not.toContain(shared);
  expect(evilWeb).toMatch(/^HTTP\/1.1 403 .*evil.example/s);
}

test("a guest reaches allowed names wherever it thinks they are, and others on the same address nowhere", async () => {
  await using sandbox = await create(platform.client, allowed);
  await expectNames(sandbox);
  const [elsewhere, mismatched, kept, noName, byAddress, private_, otherPort] = await attempt(
    sandbox,
    tls("GOOD.example", other),
    http("good.example", "203.0.113.39"),
    [shared, 80, get("good.example"), get("evil.example")],
    [shared, 443, clientHello({})],
    http(shared),
    tls("inner.example"),
    [shared, 8080, "hello"],
  );
  expect(elsewhere).toBe(at("GOOD.example"));
  expect(mismatched).toContain(at("good.example"));
  expect(kept).toMatch(/200 OK.*good.example.*403 Forbidden/s);
  expect(byAddress).toMatch(/^HTTP\/1.1 403/);
  for (const refused of [noName, private_, otherPort]) expect(refused).not.toContain("[");
  const looked = await sandbox.execute(
    "getent ahostsv4 good.example; getent ahostsv4 secret.evil.example; true",
  );
  expect(looked.stdout).toContain(shared);
  // Another address here is one of those that this machine's packages come from: a template that another file builds asks there too.
  const reached = world.arrivals.filter(({ protocol, to }) => protocol === "tcp" && to === shared);
  expect(new Set(reached.map(({ text }) => text.toLowerCase()))).toEqual(
    new Set(["good.example", "cdn.good.example"]),
  );
  const others = world.arrivals.filter(({ text }) => /example|evil/i.test(text));
  expect(others.filter(({ protocol, to }) => protocol === "tcp" && to !== shared)).toEqual([]);
  expect(world.arrivals.some(({ protocol, text }) => protocol === "dns" && text.includes("evil"))).toBe(
    false,
  );
  expect(await denials(sandbox)).toEqual(
    expect.arrayContaining([
      ...["domain evil.example 443", "domain evil.example 80", "domain secret.evil.example 53"],
      ...["no_domain  443", "no_domain  80", "private_network inner.example 443", "deny_all  8080"],
    ]),
  );
});

test("names decide in a build and in a machine as in a sandbox", async () => {
  const ask = "curl --silent --show-error --max-time 20";
  const command = `${ask} http://good.example/; ${ask} http://evil.example/; ${ask} --resolve evil.example:80:${shared} http://evil.example/; true`;
  const rules = { allow_domains: ["good.example"] };
  const lines: string[] = [];
  const build = await platform.client.templates.build(
    { name: "asks", size: "shared-cpu-1x", egress: rules, steps: [{ run: command }, { run: "exit 3" }] },
    { onLine: ({ text }) => void lines.push(text) },
  );
  expect(build.error, lines.join("\n")).toMatchObject({ step: 1, exit_code: 3 });
  const { machines, builds } = platform.client;
  const machine = await machines.create({ template: "base", egress: rules });
  const { stdout } = await machines.execute(machine.id, command, { timeout: "2m" });
  for (const [printed, { denied }] of [
    [lines.join("\n"), await builds.egress(build.id)],
    [stdout, await machines.egress(machine.id)],
  ] as const) {
    expect(printed).toContain(at("good.example"));
    expect(printed).toContain("evil.example is denied by the egress rule domain");
    expect(told(denied)).toEqual(
      expect.arrayContaining(["domain evil.example 53", "domain evil.example 80"]),
    );
  }
  expect(world.arrivals.some(({ text }) => text.includes("evil"))).toBe(false);
  await machines.destroy(machine.id);
});

test("a name that comes to lead to a private address leads nowhere from then on", async () => {
  await using sandbox = await create(platform.client, allowed);
  expect(await attempt(sandbox, tls("rebound.example"))).toEqual([at("rebound.example")]);
  await setNames({ ...names, "rebound.example": [inner] });
  await until("the old answer is over", async () => {
    const [answer] = await attempt(sandbox, tls("rebound.example"));
    return answer?.includes("rebound.example") !== true;
  });
  expect(await denials(sandbox)).toContain("private_network rebound.example 443");
  expect(world.at(inner)).toEqual([]);
});

test("names stay decided through a pause, in a fork and on another host", async () => {
  await using sandbox = await create(platform.client, allowed);
  await sandbox.pause();
  await sandbox.resume();
  await expectNames(sandbox);
  const [fork] = await sandbox.fork();
  if (fork === undefined) throw new Error("there is no fork");
  await using _fork = fork;
  await expectNames(fork);
  const from = (await platform.client.sandboxes.get(sandbox.id)).info.host_id ?? "";
  await platform.client.hosts.drain(from);
  await until(
    "the host is empty",
    async () => (await platform.client.hosts.get(from)).status === "maintenance",
  );
  for (const moved of [sandbox, fork]) {
    expect((await platform.client.sandboxes.get(moved.id)).info.host_id).not.toBe(from);
    await expectNames(moved);
  }
  await platform.client.hosts.activate(from);
});

test("the proxy outlives its host, and without it nothing passes until the host has started another", async () => {
  await using sandbox = await create(platform.client, allowed);
  const { host_id } = (await platform.client.sandboxes.get(sandbox.id)).info;
  const isSecond = host_id === second.id;
  const state = isSecond ? second.state : join(platform.state, "host");
  const uid = readConfig({
    SKERRY_HOST_STATE: state,
    SKERRY_NATIVE: "/",
    SKERRY_TEMPLATES: "/",
  }).nameProxyUid;
  const proxyPid = async () => (await findByUid({ first: uid, count: 1 }))[0]?.identity.pid ?? 0;
  await expectNames(sandbox);
  const before = await proxyPid();
  expect(before).toBeGreaterThan(0);
  const log = "/root/log";
  await sandbox.execute(`${attempting([tls("good.example")], log)} >/dev/null 2>&1 &`);
  const lines = async (): Promise<string[]> =>
    (await sandbox.execute(`cat ${log}`)).stdout.split("\n").slice(0, -1);
  await until("it passes", async () => (await lines()).at(-1) === JSON.stringify(at("good.example")));

  if (isSecond) {
    await second.kill();
    await second.start();
  } else {
    const host = await serverPid(platform, "host");
    process.kill(host, "SIGKILL");
    await untilReplaced(platform, "host", host);
  }
  await until("the host serves", () =>
    sandbox.execute("true").then(
      () => true,
      () => false,
    ),
  );
  await expectNames(sandbox);
  expect(await proxyPid()).toBe(before);
  expect(await denials(sandbox)).toContain("domain evil.example 443");

  await sandbox.execute(`: > ${log}`);
  process.kill(before, "SIGKILL");
  await until("it has failed and passes again", async () => {
    const all = await lines();
    const failed = all.findIndex((line) => line !== JSON.stringify(at("good.example")));
    return failed !== -1 && all.slice(failed).includes(JSON.stringify(at("good.example")));
  });
  expect(await proxyPid()).not.toBe(before);
  await expectNames(sandbox);
  expect(world.arrivals.some(({ text }) => text === "evil.example")).toBe(false);
});

test("two organizations share the proxy, and neither has the other's names, denials or places", async () => {
  const { apiUrl, token } = await newStranger(platform);
  await using one = await create(platform.client, ["good.example"]);
  await using two = await create(new Skerry({ baseUrl: apiUrl, token }), ["other.example"]);
  const tried = [tls("good.example"), tls("other.example", other)];
  expect((await attempt(one, ...tried)).map((answer) => answer.startsWith("["))).toEqual([true, false]);
  expect((await attempt(two, ...tried)).map((answer) => answer.startsWith("["))).toEqual([false, true]);
  expect(await denials(one)).toEqual(["domain other.example 443"]);
  expect(await denials(two)).toEqual(["domain good.example 443"]);
  const flood = `python3 -c '
import socket, time
held = []
for _ in range(300):
    one = socket.create_connection(("${shared}", 443), 20)
    one.sendall(bytes([22]))
    held.append(one)
time.sleep(600)' >/dev/null 2>&1 &`;
  await one.execute(flood);
  await until("it has all that it may have", async () =>
    (await denials(one)).includes("connection_limit  443"),
  );
  expect((await attempt(two, ...tried)).map((answer) => answer.startsWith("["))).toEqual([false, true]);
});
