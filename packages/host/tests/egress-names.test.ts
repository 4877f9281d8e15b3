// Egress by name, by real packets: a stand-in for a guest, the name proxy as its own process, and a world with sites and a name server.
// One world for all of it takes longer to build than most of these take, so it is one file.
/* oxlint-disable max-lines */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { EgressDenial, HostEgress } from "@skerry/contract/vms/egress";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { EgressLoader } from "../src/network/egress-loader.ts";
import { ipBatch, listTable, loadRules } from "../src/network/netns-exec.ts";
import { openingScript } from "../src/network/named-addresses.ts";
import { POLICY_TABLE } from "../src/network/policy-rules.ts";
import { runProgram } from "../src/system/run.ts";
import { findByUid } from "../src/vm/qemu/process.ts";
import { clientHello } from "./support/client-hello.ts";
import { NAME_PROXY_UID, testNames } from "./support/names.ts";
import { testRange, testWorld } from "./support/network.ts";
import { layWire, NAME_SERVER_PORT, type Wire } from "./support/wire.ts";

/** Two addresses of a content network: sites share them. */
const [shared, other] = neighbours();
const names: Readonly<Record<string, readonly string[]>> = {
  "good.example": [shared],
  "cdn.good.example": [shared],
  "evil.example": [shared],
  "elsewhere.example": [other],
  "inner.example": ["10.1.2.3"],
  "self.example": [testWorld().host],
  "mixed.example": ["10.1.2.3", shared],
  "crowded.good.example": [shared, ...Array.from({ length: 99 }, (_, index) => `10.1.2.${index}`)],
};
const policy: HostEgress = {
  ...{ mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
  allow_domains: ["good.example", "*.good.example", "inner.example", "self.example", "mixed.example"],
};

interface Arrival {
  readonly site?: string;
  readonly tls?: string;
  readonly http?: string;
  readonly url?: string;
  readonly asked?: string;
}

let wire: Wire;
let world: ChildProcess;
let folder: string;
const arrivals: Arrival[] = [];

beforeAll(async () => {
  wire = await layWire("n");
  folder = await mkdtemp(join(tmpdir(), "skerry-unit-names-"));
  await runProgram(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-subj", "/CN=good.example", "-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")],
    ],
    { deadlineMs: 20_000 },
  );
  await ipBatch([`addr add ${shared}/29 dev eth0`, `addr add ${other}/29 dev eth0`], wire.worldNetns);
  world = spawn("nsenter", [
    ...[`--net=/run/netns/${wire.worldNetns}`, "--", process.execPath],
    ...[join(import.meta.dirname, "support/name-world.cjs"), wire.world, String(NAME_SERVER_PORT), folder],
    ...[shared, other],
  ]);
  const { stdout } = world;
  if (stdout === null) throw new Error("the world has no output");
  await new Promise<void>((resolve) => {
    createInterface({ input: stdout }).on("line", (line) => {
      if (line === "ready") resolve();
      else if (line === "known") known();
      else arrivals.push(JSON.parse(line) as Arrival);
    });
  });
  await resolveTo(names);
});

afterAll(async () => {
  const ended = once(world, "exit");
  world.kill("SIGKILL");
  await ended;
  await wire.stop();
  await rm(folder, { recursive: true });
});

beforeEach(async () => {
  await wire.rules.replace(wire.slot, policy);
  arrivals.length = 0;
});

let known: () => void = () => undefined;
async function resolveTo(all: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  known = resolve;
  world.stdin?.write(`${JSON.stringify(all)}\n`);
  await promise;
}

/** Sends bytes from the guest, the pieces one after the other, and resolves with what came back until the end. */
async function send(address: string, port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const encoded = pieces.map((piece) => Buffer.from(piece).toString("base64"));
  const program = `
import base64, socket, sys, time
one = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
one.settimeout(3)
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
said = b""
try:
    for piece in sys.argv[3:]:
        one.sendall(base64.b64decode(piece)); time.sleep(0.05)
    while True:
        more = one.recv(65536)
        if not more: break
        said += more
except OSError as error: said += type(error).__name__.encode()
print(base64.b64encode(said).decode())`;
  const said = await wire.guest(`python3 -c '${program}' ${address} ${port} ${encoded.join(" ")}`, 30);
  return Buffer.from(said, "base64").toString("latin1");
}

const tls = (address: string, name: string): Promise<string> =>
  wire.guest(
    `echo | timeout 10 openssl s_client -quiet -connect ${address}:443 -servername ${name} 2>/dev/null; true`,
  );
const http = (address: string, ...requests: readonly string[]): Promise<string> =>
  send(address, 80, ...requests);
const get = (host: string, url = "/", ...fields: readonly string[]): string =>
  [`GET ${url} HTTP/1.1`, `Host: ${host}`, ...fields, "", ""].join("\r\n");
const closing = "Connection: close";

async function denials(inForce = policy): Promise<string[]> {
  const { denied } = await wire.rules.report(wire.slot, inForce);
  return denied.map(
    ({ rule, domain, protocol, port }: EgressDenial) => `${rule} ${domain ?? ""} ${protocol} ${port}`,
  );
}

test("an allowed name is reached by TLS and HTTP, and what it is below a suffix", async () => {
  expect(await tls(shared, "good.example")).toContain(`${shared} good.example`);
  expect(await tls(shared, "CDN.good.example")).toContain(`${shared}`);
  expect(await http(shared, get("good.example", "/x?y", closing))).toContain(`${shared} good.example`);
  expect(await http(shared, get("cdn.GOOD.example:80", "/", closing))).toContain("200 OK");
});

test("another name on the same address is refused, and told with its rule", async () => {
  expect(await tls(shared, "evil.example")).not.toContain(shared);
  expect(await http(shared, get("evil.example", "/", closing))).toMatch(
    /^HTTP\/1.1 403.*evil.example.*domain/s,
  );
  expect(arrivals.filter(({ site }) => site !== undefined)).toEqual([]);
  expect(await denials()).toEqual(
    expect.arrayContaining(["domain evil.example tcp 443", "domain evil.example tcp 80"]),
  );
});

test("the address that the guest chooses leads nowhere: the name does, by the host's own lookup", async () => {
  expect(await tls(other, "good.example")).toContain(`${shared} good.example`);
  expect(await http("203.0.113.250", get("good.example", "/", closing))).toContain(shared);
  expect(arrivals.filter(({ site }) => site === other)).toEqual([]);
});

/** A TLS alert, or the end without a word. */
const isRefusal = (said: string): boolean =>
  said === "" || said.startsWith("\u0015\u0003") || said.includes("Reset");

test("TLS that shows no name, or hides one, is refused", async () => {
  const hellos = [
    clientHello({}),
    clientHello({ names: ["good.example"], isEncrypted: true }),
    clientHello({ names: ["good.example", "evil.example"] }),
    clientHello({ names: ["192.0.2.1"] }),
    clientHello({ names: ["good.example"], padding: 40_000 }),
    Buffer.from(get("good.example")),
  ];
  for (const hello of hellos) expect(await send(shared, 443, hello)).toSatisfy(isRefusal);
  expect(arrivals.filter(({ site }) => site !== undefined)).toEqual([]);
  expect(await denials()).toContain("no_domain  tcp 443");
});

test("a hello in many segments is read whole before anything is decided", async () => {
  const whole = clientHello({ names: ["evil.example"], padding: 400, recordBytes: 100 });
  const pieces = Array.from({ length: 30 }, (_, at) =>
    whole.subarray(Math.floor((at * whole.length) / 30), Math.floor(((at + 1) * whole.length) / 30)),
  );
  expect(await send(shared, 443, ...pieces)).toSatisfy(isRefusal);
});

test("each request on a kept HTTP connection is decided, also pipelined", async () => {
  const kept = await http(shared, get("good.example"), get("evil.example", "/", closing));
  expect(kept).toMatch(/200 OK.*good.example.*403 Forbidden/s);
  const pipelined = await http(
    shared,
    get("good.example") + get("evil.example") + get("good.example", "/3", closing),
  );
  expect(pipelined).toMatch(/200 OK.*403 Forbidden/s);
  const smuggled = get("evil.example");
  await http(
    shared,
    `POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  );
  const upgrade = await http(
    shared,
    get(
      "good.example",
      "/",
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABk",
    ),
    get("evil.example", "/", closing),
  );
  expect(upgrade).toMatch(/200 OK.*403 Forbidden/s);
  expect(arrivals.filter((arrival) => arrival.http === "evil.example")).toEqual([]);
});

test.each([
  ["Host twice", `GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n${closing}\r\n\r\n`],
  ["no Host", `GET / HTTP/1.1\r\n${closing}\r\n\r\n`],
  ["an address for a Host", get(shared, "/", closing)],
  ["another port", get("good.example:8080", "/", closing)],
  ["a target of another name", get("good.example", "http://evil.example/", closing)],
  ["a target with a user", get("good.example", "http://good.example@evil.example/", closing)],
  ["CONNECT", "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n"],
  ["a folded Host", `GET / HTTP/1.1\r\nHost: good.example\r\n evil.example\r\n${closing}\r\n\r\n`],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["no HTTP", "SSH-2.0-x\r\n\r\n"],
  ["a head without end", `GET / HTTP/1.1\r\nHost: good.example\r\nX: ${"x".repeat(40_000)}`],
])("HTTP with %s reaches nothing", async (_what, bytes) => {
  expect(await http(shared, bytes)).not.toMatch(/^HTTP\/1.1 (2|101)/);
  expect(arrivals.filter(({ site }) => site !== undefined)).toEqual([]);
});

test("a target in absolute form of the same name, and a WebSocket, pass", async () => {
  expect(await http(shared, get("good.example", "http://good.example/a", closing))).toContain("200 OK");
  expect(arrivals).toContainEqual({ site: shared, http: "good.example", url: "/a" });
  const socket = await http(
    shared,
    get("good.example", "/", "Connection: Upgrade", "Upgrade: websocket"),
    "echoed",
  );
  expect(socket).toMatch(/101 Switching Protocols.*echoed/s);
});

test("a name that leads to a private address or to the machine is refused, also when it comes to lead there", async () => {
  expect(await tls(shared, "inner.example")).not.toContain("inner");
  expect(await tls(shared, "self.example")).not.toContain("self");
  expect(await tls(shared, "mixed.example")).toContain(`${shared} mixed.example`);
  expect(await denials()).toEqual(
    expect.arrayContaining(["private_network inner.example tcp 443", "never self.example tcp 443"]),
  );
  expect(await tls(shared, "cdn.good.example")).toContain(shared);
  await resolveTo({ ...names, "cdn.good.example": ["10.9.9.9"] });
  try {
    await until(async () => !(await tls(shared, "cdn.good.example")).includes(shared));
    expect(await denials()).toContain("private_network cdn.good.example tcp 443");
  } finally {
    await resolveTo(names);
  }
});

/** Asks for a name as a resolver library does; resolves with the addresses, or what went wrong. */
const lookUp = (name: string): Promise<string> =>
  wire.guest(`python3 - ${name} <<'X'
import socket, struct, sys
name = b"".join(bytes([len(part)]) + part.encode() for part in sys.argv[1].split(".")) + b"\\0"
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(5)
one.sendto(b"AB\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + name + b"\\0\\1\\0\\1", ("169.254.0.22", 53))
answer = one.recv(2000)
count = struct.unpack("!H", answer[6:8])[0]
at = 12 + len(name) + 4
print(answer[3] & 15, *(socket.inet_ntoa(answer[at + 16 * i + 12:at + 16 * i + 16]) for i in range(count)))
X`);

test("only allowed names are looked up, and only addresses that may be reached are answered", async () => {
  expect(await lookUp("good.example")).toBe(`0 ${shared}\n`);
  expect(await lookUp("mixed.example")).toBe(`0 ${shared}\n`);
  expect(await lookUp("inner.example")).toBe("0\n");
  expect(await lookUp("secret.attacker.example")).toBe("3\n");
  expect(arrivals.filter(({ asked }) => asked?.includes("attacker"))).toEqual([]);
  expect(await denials()).toContain("domain secret.attacker.example udp 53");
});

/** What comes back of "hello" from a service that is neither HTTP nor TLS. */
const echo = (address: string, protocol: "tcp" | "udp" = "tcp"): Promise<string> =>
  wire.guest(
    `(exec 3<>/dev/${protocol}/${address}/2222 && echo hello >&3 && timeout 2 head -n 1 <&3) 2>/dev/null || echo nothing`,
  );

test("another protocol reaches what an allowed name was looked up to, once it was, and nothing else", async () => {
  expect(await echo(shared)).toBe("nothing\n");
  expect(await denials()).toContain("deny_all  tcp 2222");
  for (const name of ["mixed.example", "inner.example", "elsewhere.example"]) await lookUp(name);
  expect(await echo(shared)).toBe("hello\n");
  expect(await echo(shared, "udp")).toBe("hello\n");
  for (const address of [other, "10.1.2.3", wire.world]) expect(await echo(address)).toBe("nothing\n");
  // On the ports that names decide, the address decides nothing.
  expect(await tls(shared, "evil.example")).not.toContain(shared);
  expect(await http(shared, get("evil.example", "/", closing))).toContain("403");
  const quic = `exec 3<>/dev/udp/${shared}/443 && echo hello >&3 && timeout 1 head -n 1 <&3 || echo closed`;
  expect(await wire.guest(quic)).not.toContain("hello");
  expect(await denials()).toContain("no_domain  udp 443");
});

/** A program in the guest that answers each line with one of its own. */
async function conversation(
  command: string,
  work: (say: (line: string) => Promise<string>) => Promise<void>,
) {
  const client = wire.spawnInGuest(command);
  let said = "";
  client.stdout?.on("data", (text: Buffer) => (said += text.toString()));
  try {
    await work(async (line) => {
      said = "";
      client.stdin?.write(`${line}\n`);
      await until(() => Promise.resolve(said.endsWith("\n")));
      return said;
    });
  } finally {
    client.kill("SIGKILL");
  }
}

test("a connection outlives its name's time, and no policy without the name", async () => {
  await lookUp("good.example");
  await conversation(
    `exec 3<>/dev/tcp/${shared}/2222; while read -r line; do echo $line >&3; timeout 2 head -n 1 <&3 || echo cut; done`,
    async (say) => {
      expect(await say("one")).toBe("one\n");
      // The address is not open any more, as when its time is over.
      await wire.rules.replace(wire.slot, policy);
      expect(await say("two")).toBe("two\n");
      expect(await echo(shared)).toBe("nothing\n");
      await wire.rules.replace(wire.slot, { ...policy, allow_domains: ["*.good.example"] });
      expect(await say("three")).toBe("cut\n");
    },
  );
});

test("what keeps its port passes again under another policy, once that has its name looked up", async () => {
  await lookUp("good.example");
  const program = `python3 -uc '
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("", 5353))
one.settimeout(2)
for line in sys.stdin:
    one.sendto(line.encode(), ("${shared}", 2222))
    try: print(one.recv(100).decode(), end="")
    except OSError: print("nothing")
'`;
  await conversation(program, async (say) => {
    expect(await say("one")).toBe("one\n");
    const wider = { ...policy, allow_domains: [...(policy.allow_domains ?? []), "more.example"] };
    await wire.rules.replace(wire.slot, wider);
    expect(await say("two")).toBe("nothing\n");
    await lookUp("good.example");
    expect(await say("three")).toBe("three\n");
  });
});

test("where the policy names ports, another protocol has those alone", async () => {
  await wire.rules.replace(wire.slot, { ...policy, allow_ports: [22] });
  await lookUp("good.example");
  expect(await echo(shared)).toBe("nothing\n");
  expect(await tls(shared, "good.example")).toContain(shared);
  await wire.rules.replace(wire.slot, { ...policy, allow_ports: [2222] });
  await lookUp("good.example");
  expect(await echo(shared)).toBe("hello\n");
  expect(await echo(shared, "udp")).toBe("nothing\n");
});

test("an address that is open already is open for as long as the newest answer says", async () => {
  const timeLeft = async (): Promise<number> => {
    const listed = JSON.stringify(await listTable("inet", POLICY_TABLE, wire.slot));
    return Number(/"val":"[^"]+","timeout":\d+,"expires":(\d+)/.exec(listed)?.[1]);
  };
  for (const ttlS of [10, 300, 20]) {
    await loadRules(openingScript(POLICY_TABLE, new Map([[shared, ttlS]])), wire.slot);
    const left = await timeLeft();
    expect(left).toBeGreaterThan(ttlS);
    expect(left).toBeLessThanOrEqual(ttlS + 60);
  }
});

test("a name with more addresses than a datagram holds is resolved, and answered within one", async () => {
  expect(await tls(other, "crowded.good.example")).toContain(`${shared} crowded.good.example`);
  expect(await lookUp("crowded.good.example")).toBe(`0 ${shared}\n`);
});

test("whatever a server answers, and whenever a guest hangs up, the proxy goes on", async () => {
  const [before] = await proxies();
  const answers = [
    "HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 099 None\r\n\r\n",
    "HTTP/1.1 200 a\u0001b\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx: a\u0001b\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx\u0001y: a\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\nbytes",
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    `HTTP/1.1 200 OK\r\nx: ${"x".repeat(20_000)}\r\n\r\n`,
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n",
    "SSH-2.0-x\r\n",
    "",
  ].map((answer) => `/raw/${Buffer.from(answer, "latin1").toString("base64url")}`);
  const upgrade = ["Connection: Upgrade", "Upgrade: websocket"];
  const requests = answers.flatMap((url) => [
    get("good.example", url, closing),
    get("good.example", url, ...upgrade),
  ]);
  await Promise.all(requests.map((request) => http(shared, request)));
  const hangUps = ["good.example", "evil.example"].flatMap((name): [number, string | Buffer][] => [
    [80, get(name)],
    [80, get(name, "/", ...upgrade)],
    [443, clientHello({ names: [name] })],
  ]);
  await wire.guest(`python3 -c '
import base64, socket, struct
for port, text in ${JSON.stringify(hangUps.map(([port, text]) => [port, Buffer.from(text).toString("base64")]))} * 20:
    one = socket.create_connection(("${shared}", port), 5)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.sendall(base64.b64decode(text))
    one.close()
'`);
  expect(await tls(shared, "good.example")).toContain(shared);
  expect(await proxies()).toEqual([before]);
});

test("a proxy that a guest has taken over reaches no private network, no other port and nothing on this machine", async () => {
  const local = createServer().listen(80, wire.host);
  await once(local, "listening");
  try {
    const tried = await Promise.all(
      [
        [shared, 80],
        [shared, 443],
        [shared, 22],
        [wire.host, 80],
        ["10.1.2.3", 80],
        [wire.world, 80],
      ].map(([address, port]) => asProxy(String(address), Number(port))),
    );
    expect(tried).toEqual(["open", "open", "124", "124", "124", "open"]);
  } finally {
    local.close();
  }
});

/** What the machine's rules let the proxy's user do: "open", or timeout's exit code where no packet leaves the machine. */
async function asProxy(address: string, port: number): Promise<string> {
  const line = `timeout 2 bash -c "exec 3<>/dev/tcp/${address}/${port}" && echo open || echo $?`;
  const user = String(NAME_PROXY_UID);
  const said = await runProgram(
    "setpriv",
    ["--reuid", user, "--regid", user, "--clear-groups", "/bin/bash", "-c", line],
    { deadlineMs: 20_000 },
  );
  return said.trim();
}

test("what is much for one guest arrives whole", async () => {
  const bytes = 64 << 20;
  const line = `curl -s --resolve good.example:80:${other} http://good.example/bytes/${bytes} | wc -c`;
  expect(await wire.guest(line, 60)).toBe(`${bytes}\n`);
});

test("who gets an address after another guest finds nothing of it", async () => {
  await tls(shared, "evil.example");
  expect(await denials()).toContain("domain evil.example tcp 443");
  const known = wire.names.policyOf(wire.slotAddress);
  if (known === undefined) throw new Error("the guest has no policy");
  await wire.names.set(wire.slotAddress, known, true);
  expect((await wire.names.traffic(wire.slotAddress)).denied).toEqual([]);
});

test("with allow_all denied names are refused, others pass, and no protocol hides its name", async () => {
  const open: HostEgress = { ...policy, mode: "allow_all", deny_domains: ["evil.example", "*.evil.example"] };
  delete (open as { allow_domains?: string[] }).allow_domains;
  await wire.rules.replace(wire.slot, open);
  expect(await tls(other, "elsewhere.example")).toContain(other);
  expect(await tls(shared, "evil.example")).not.toContain(shared);
  expect(await http(shared, get("evil.example.", "/", closing))).toContain("403");
  expect(await lookUp("evil.example")).toBe("3\n");
  const quic = await wire.guest(
    `exec 3<>/dev/udp/${wire.world}/443 && echo hello >&3 && timeout 1 head -n 1 <&3 || echo closed`,
  );
  expect(quic).not.toContain("hello");
  expect(await denials(open)).toEqual(
    expect.arrayContaining([
      "deny_domain evil.example tcp 443",
      "deny_domain evil.example udp 53",
      "no_domain  udp 443",
    ]),
  );
});

test("an allowed CIDR passes by its address, and a connection from before the names does not", async () => {
  const before: HostEgress = { ...policy, mode: "allow_all" };
  delete (before as { allow_domains?: string[] }).allow_domains;
  await wire.rules.replace(wire.slot, before);
  const client = wire.spawnInGuest(
    `exec 3<>/dev/tcp/${wire.world}/443; echo one >&3; head -n 1 <&3; read go; echo two >&3; timeout 2 head -n 1 <&3; echo end`,
  );
  let said = "";
  client.stdout?.on("data", (text: Buffer) => (said += text.toString()));
  await until(() => Promise.resolve(said.includes("one")));
  await wire.rules.replace(wire.slot, policy);
  const exited = once(client, "exit");
  client.stdin?.end("go\n");
  await exited;
  expect(said).not.toContain("two");
  await wire.rules.replace(wire.slot, { ...policy, allow_cidrs: [`${wire.world}/32`] });
  const direct = `exec 3<>/dev/tcp/${wire.world}/443 && echo hello >&3 && head -n 1 <&3`;
  expect(await wire.guest(direct)).toBe("hello\n");
});

test("a change of policy cuts the connections that it forbids", async () => {
  const client = wire.spawnInGuest(
    `openssl s_client -quiet -connect ${shared}:443 -servername good.example 2>/dev/null < <(sleep 15); echo cut`,
  );
  let said = "";
  client.stdout?.on("data", (text: Buffer) => (said += text.toString()));
  await until(() => Promise.resolve(said.includes("good.example")));
  await wire.rules.replace(wire.slot, { ...policy, allow_domains: ["elsewhere.example"] });
  await until(() => Promise.resolve(said.includes("cut")));
  client.kill("SIGKILL");
});

test("a guest that holds many connections without a word is bounded, and told", async () => {
  const held = wire.spawnInGuest(`python3 -c '
import socket, time
all = []
for _ in range(300):
    one = socket.create_connection(("${shared}", 443), 5)
    one.sendall(bytes([22]))
    all.append(one)
print("open", flush=True)
time.sleep(60)'`);
  try {
    await until(async () => (await denials()).includes("connection_limit  tcp 443"));
  } finally {
    held.kill("SIGKILL");
  }
  await until(async () => (await tls(shared, "good.example")).includes(shared));
});

test.each(["SIGKILL", "SIGSTOP"] as const)(
  "the proxy, which has a user of its own, gets %s: nothing passes until there is another, with every policy",
  async (signal) => {
    const [first] = await proxies();
    if (first === undefined) throw new Error("there is no name proxy");
    process.kill(first, signal);
    if (signal === "SIGSTOP") {
      expect(await tls(shared, "good.example")).not.toContain(shared);
      await expect(wire.rules.replace(wire.slot, policy)).rejects.toThrow("the name proxy has gone");
    }
    await until(async () => (await tls(shared, "good.example")).includes(shared));
    expect(await tls(shared, "evil.example")).not.toContain(shared);
    const after = await proxies();
    expect(after).not.toContain(first);
    expect(after).toHaveLength(1);
  },
);

test("a policy without names ends what went through the proxy", async () => {
  await wire.rules.replace(wire.slot, { ...policy, allow_domains: [] });
  expect(await tls(shared, "good.example")).not.toContain(shared);
  const { allow_domains: _, ...closed } = policy;
  await wire.rules.replace(wire.slot, closed);
  expect(await tls(shared, "good.example")).not.toContain(shared);
  expect(arrivals.filter(({ site }) => site !== undefined)).toEqual([]);
});

test("a guest that this host process has not told the proxy of finds nothing of the one before it", async () => {
  await tls(shared, "evil.example");
  expect(await denials()).toContain("domain evil.example tcp 443");
  // The next host process: it finds the proxy, which still knows the guest that has ended.
  wire.names.close();
  const names = testNames({ servers: [{ address: wire.world, port: NAME_SERVER_PORT }] });
  const { slots } = wire;
  const rules = new EgressLoader({ range: testRange(), neverCidrs: [], resolverPort: 10_053, slots, names });
  const before = await proxies();
  try {
    await rules.replace(wire.slot, policy);
    expect(await proxies()).toEqual(before);
    expect((await names.proxy.traffic(wire.slotAddress)).denied).toEqual([]);
  } finally {
    names.proxy.close();
  }
});

async function proxies(): Promise<number[]> {
  return (await findByUid({ first: NAME_PROXY_UID, count: 1 })).map(({ identity }) => identity.pid);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(100);
}

function neighbours(): [string, string] {
  const { world } = testWorld();
  const [, head = "", last = ""] = /^(.*\.)(\d+)$/.exec(world) ?? [];
  return [`${head}${Number(last) + 2}`, `${head}${Number(last) + 3}`];
}
