// Ports of sandboxes that E2B's clients made, by names of their own: who is let in, and what is told where nothing answers.

import { once } from "node:events";
import { execFileSync } from "node:child_process";
import { createServer as createHttpsServer } from "node:https";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Sandbox, type SandboxOpts } from "e2b-2.51";
import { beforeAll, expect, test } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { e2bOptions } from "./support/e2b.ts";
import { GuestPorts } from "./support/guest-port.ts";
import { useWorld } from "./support/world.ts";

const DOMAIN = "sandboxes.test";
const world = useWorld();
const guest = new GuestPorts(world);
let url: string;

beforeAll(async () => {
  const server = await buildServer(world.contextWith({ sandboxDomain: DOMAIN }));
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  world.after(() => server.stop(0));
  url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
});

const create = (network: SandboxOpts["network"] = {}) =>
  Sandbox.create({ ...e2bOptions({ url, token: world.token }), network });

/** By the name that the client makes. */
async function ask(sandbox: Sandbox, port: number, headers: Record<string, string> = {}) {
  const host = `${port}-${sandbox.sandboxId}.${DOMAIN}`;
  const { hostname, port: listensOn } = new URL(url);
  const sent = httpRequest({ hostname, port: listensOn, path: "/", headers: { host, ...headers } }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, type: response.headers["content-type"], body: await text(response) };
}

const told = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, JSON.parse(body) as unknown];

/** Says what it was asked. */
const telling = () =>
  guest.serve(({ headers }, response) => {
    response.end(JSON.stringify(headers));
  });

test("below the domain the API has the name that clients make where they know the domain alone, and no cookie counts there", async () => {
  const { hostname, port: listensOn } = new URL(url);
  const askApi = async (path: string, headers: Record<string, string>) => {
    const sent = httpRequest({
      hostname,
      port: listensOn,
      path,
      headers: { host: `api.${DOMAIN}`, ...headers },
    }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return [response.statusCode, await text(response)] as const;
  };
  const { apiKey } = e2bOptions({ url, token: world.token });
  const sandbox = await create();
  const [status, body] = await askApi("/v2/sandboxes", { "x-api-key": apiKey });
  expect([status, body.includes(sandbox.sandboxId)]).toEqual([200, true]);
  expect((await askApi("/health", {}))[0]).toBe(204);
  expect((await askApi("/v2/sandboxes", { cookie: "skerry_session=anything" }))[0]).toBe(401);
  expect((await askApi("/v1/sandboxes", { authorization: `Bearer ${world.token}` }))[0]).toBe(404);
});

test("where its traffic is not public a port needs the sandbox's own token, which the guest does not get", async () => {
  const port = await telling();
  const [closed, other, open] = [
    await create({ allowPublicTraffic: false }),
    await create({ allowPublicTraffic: false }),
    await create(),
  ];
  const { trafficAccessToken: token = "" } = closed;
  expect([token === "", open.trafficAccessToken]).toEqual([false, undefined]);
  const refused = (fault: string) => [
    403,
    {
      ...{ sandboxId: closed.sandboxId, code: 403 },
      message: `Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is ${fault}`,
    },
  ];
  expect(told(await ask(closed, port))).toEqual(refused("missing"));
  for (const wrong of ["", "x", token.slice(0, -1), `${token}x`, other.trafficAccessToken ?? ""])
    expect(told(await ask(closed, port, { "e2b-traffic-access-token": wrong }))).toEqual(refused("invalid"));
  const header = { "e2b-traffic-access-token": token };
  const answered = await ask(closed, port, header);
  expect([answered.status, answered.body.includes(token)]).toEqual([200, false]);
  expect((await ask(open, port)).status).toBe(200);
  // The same again by who connects to it, also after a pause.
  const options = e2bOptions({ url, token: world.token });
  expect((await Sandbox.connect(closed.sandboxId, options)).trafficAccessToken).toBe(token);
  await closed.pause();
  expect((await closed.connect()).trafficAccessToken).toBe(token);
  expect((await ask(closed, port, header)).status).toBe(200);
  // It opens ports, and nothing else of the sandbox.
  const host = `49983-${closed.sandboxId}.${DOMAIN}`;
  expect((await fetch(`${url}/health`, { headers: { host, ...header } })).status).not.toBe(204);
  const health = await fetch(`${url}/e2b/sandbox/health`, {
    headers: { "e2b-sandbox-id": closed.sandboxId, "x-access-token": token },
  });
  expect(health.status).toBe(401);
});

test("a port on which nothing listens and a sandbox that is away are told as E2B's proxy tells them", async () => {
  const sandbox = await create();
  const { sandboxId } = sandbox;
  expect(told(await ask(sandbox, 3_000))).toEqual([
    502,
    { sandboxId, message: "The sandbox is running but port is not open", port: 3_000, code: 502 },
  ]);
  const page = await ask(sandbox, 3_000, { "user-agent": "Mozilla/5.0 (X11) Chrome/91.0 Safari/537.36" });
  expect([page.status, page.type]).toEqual([502, "text/html; charset=utf-8"]);
  expect(page.body).toContain("<title>Closed Port Error</title>");
  const gone = [502, { sandboxId, message: "The sandbox was not found", code: 502 }];
  await sandbox.pause();
  expect(told(await ask(sandbox, 3_000))).toEqual(gone);
  await sandbox.kill();
  expect(told(await ask(sandbox, 3_000))).toEqual(gone);
  expect(await sandbox.isRunning()).toBe(false);
});

test("errors at ports of sandboxes of ours stay ours", async () => {
  const { id } = await world.createSandbox();
  const { hostname, port } = new URL(url);
  const host = `3000-${id.replace("_", "-")}.${DOMAIN}`;
  const sent = httpRequest({ hostname, port, path: "/", headers: { host } }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect([response.statusCode, JSON.parse(await text(response))]).toEqual([
    401,
    expect.objectContaining({ code: "unauthorized" }),
  ]);
});

test("the guest gets the host that the client asked for, and no other field with it", async () => {
  const port = await telling();
  const sandbox = await create({ maskRequestHost: "custom.example.com:${PORT}" });
  const { body } = await ask(sandbox, port);
  expect(JSON.parse(body)).toMatchObject({ host: `custom.example.com:${port}` });
  expect((await sandbox.getInfo()).network).toMatchObject({ maskRequestHost: "custom.example.com:${PORT}" });
  for (const host of ["a\r\nx-evil: 1", "a b", "", "a".repeat(256)])
    await expect(create({ maskRequestHost: host })).rejects.toThrow("400");
});

test("a guest that speaks TLS on a port is spoken to so, whatever its certificate says, and on no other port", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skerry-tls-"));
  world.after(() => rm(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=nobody", "-days", "1", "-nodes"];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-keyout", key, "-out", cert, ...subject];
  execFileSync("openssl", made, { stdio: "ignore" });
  const server = createHttpsServer({ key: await readFile(key), cert: await readFile(cert) }, (_, response) =>
    response.end("over TLS"),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  world.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  const port = 8_443;
  world.host.ports.lead(port, (server.address() as AddressInfo).port);
  const plain = await telling();
  const sandbox = await create({ httpsPorts: [port] });
  for (let requests = 0; requests < 2; requests++) {
    const answer = await ask(sandbox, port);
    expect([answer.status, answer.body]).toEqual([200, "over TLS"]);
  }
  expect((await ask(sandbox, plain)).status).toBe(200);
  expect((await sandbox.getInfo()).network).toMatchObject({ httpsPorts: [port] });
  // One that speaks none there is told, and does not hang.
  const wrong = await create({ httpsPorts: [plain] });
  expect((await ask(wrong, plain)).status).toBe(502);
});

/** As clients call a port at one URL, which names sandbox and port in headers. */
const askByHeader = (at: string, sandbox: Sandbox, port: number, headers: Record<string, string> = {}) =>
  fetch(`${at}/e2b/sandbox/some/path?x=1`, {
    headers: { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": String(port), ...headers },
  });

test("at one URL a header names the port, which needs the sandbox's token where it is not public", async () => {
  const port = await guest.serve((request, response) => {
    response.end(JSON.stringify([request.url, request.headers]));
  });
  const [closed, open] = [await create({ allowPublicTraffic: false }), await create()];
  const { trafficAccessToken: token = "" } = closed;
  const [missing, wrong, right, anybody] = [
    await askByHeader(url, closed, port),
    await askByHeader(url, closed, port, { "e2b-traffic-access-token": open.sandboxId }),
    await askByHeader(url, closed, port, { "e2b-traffic-access-token": token }),
    await askByHeader(url, open, port),
  ];
  expect([missing, wrong, right, anybody].map(({ status }) => status)).toEqual([403, 403, 200, 200]);
  const [path, headers] = (await right.json()) as [string, Record<string, string>];
  expect(path).toBe("/some/path?x=1");
  expect(Object.keys(headers).filter((name) => name.startsWith("e2b-"))).toEqual([]);
});

test("without its token nothing tells a sandbox whose ports are closed from one that never was", async () => {
  const sandbox = await create({ allowPublicTraffic: false });
  const killed = await create({ allowPublicTraffic: false });
  await killed.kill();
  const native = (await world.createSandbox()).id.slice("sbx_".length);
  const never = `${sandbox.sandboxId.slice(0, -4)}0000`;
  const { hostname, port } = new URL(url);
  const send = async (path: string, headers: Record<string, string>, id: string) => {
    const sent = httpRequest({ hostname, port, path, headers }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const body = (await text(response)).replaceAll(id, "ID").replaceAll(/req_\w+/g, "REQUEST");
    return [response.statusCode, response.headers["content-type"], body];
  };
  const ways = [
    (id: string) => ["/e2b/sandbox/x", { "e2b-sandbox-id": id, "e2b-sandbox-port": "8000" }] as const,
    (id: string) => ["/x", { host: `8000-${id}.${DOMAIN}` }] as const,
    (id: string) => ["/x", { host: `8000-sbx-${id}.${DOMAIN}` }] as const,
  ];
  const brought: Record<string, string>[] = [
    {},
    { "e2b-traffic-access-token": "ta_wrong" },
    { "user-agent": "Mozilla/5.0" },
    { authorization: "Bearer of-the-guest" },
  ];
  for (const way of ways) {
    for (const more of brought) {
      const asked = async (id: string) => {
        const [path, headers] = way(id);
        return send(path, { ...headers, ...more }, id);
      };
      const unknown = await asked(never);
      expect(unknown[0]).toBeOneOf([401, 403]);
      for (const id of [sandbox.sandboxId, killed.sandboxId, native])
        expect(await asked(id)).toEqual(unknown);
    }
  }
});

test("where no port has a name, a client is told the token that opens its sandbox's ports at one URL", async () => {
  const port = await telling();
  const sandbox = await Sandbox.create(e2bOptions(world));
  const { trafficAccessToken: token = "" } = sandbox;
  expect((await askByHeader(world.url, sandbox, port)).status).toBe(403);
  const answer = await askByHeader(world.url, sandbox, port, { "e2b-traffic-access-token": token });
  expect(answer.status).toBe(200);
  const again = await Sandbox.connect(sandbox.sandboxId, e2bOptions(world));
  expect(again.trafficAccessToken).toBe(token);
});

test("a guest that breaks off, or is silent, where it was to speak TLS harms none but who asked", async () => {
  const sockets = new Set<Socket>();
  const answers: ((socket: Socket) => void)[] = [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    (socket) => socket.write(Buffer.from([22, 3, 3, 255, 255, 1, 2, 3]), () => socket.resetAndDestroy()),
    (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n"),
    () => undefined,
  ];
  let answer = answers[0];
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined).once("close", () => sockets.delete(socket)));
    socket.once("data", () => answer?.(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  world.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const port = 9_443;
  world.host.ports.lead(port, (server.address() as AddressInfo).port);
  const sandbox = await create({ httpsPorts: [port] });
  for (const one of answers.slice(0, -1)) {
    answer = one;
    expect((await ask(sandbox, port)).status).toBe(502);
  }
  answer = answers.at(-1);
  const { hostname, port: listensOn } = new URL(url);
  const headers = { host: `${port}-${sandbox.sandboxId}.${DOMAIN}` };
  const silent = httpRequest({ hostname, port: listensOn, path: "/", headers }).on("error", () => undefined);
  silent.end();
  await expect.poll(() => sockets.size).toBe(1);
  silent.destroy();
  await expect.poll(() => sockets.size).toBe(0);
});
