// Attempts to reach with a log what its owner may not reach, or to learn a secret with it.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useForwarding } from "./support/forwarding.ts";
import { Certificate, OtlpReceiver, SyslogReceiver } from "./support/log-receivers.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const forwarding = useForwarding(world);
const { certificate, names, control, forwardOnce, setForward, forwardOf, liveInstance } = forwarding;
const { console } = world.host;

/** Something inside that nobody outside may reach. */
let inside: Server;
let arrivals = 0;
beforeAll(async () => {
  inside = createServer((socket) => {
    arrivals += 1;
    socket.destroy();
  });
  inside.listen(0, "::");
  await once(inside, "listening");
});
afterAll(() => new Promise((resolve) => inside.close(resolve)));
const port = (): number => (inside.address() as { readonly port: number }).port;

test.each([
  "https://127.0.0.1/v1/logs",
  "https://127.1/v1/logs",
  "https://0x7f000001/v1/logs",
  "https://2130706433/v1/logs",
  "https://[::1]/v1/logs",
  "https://[::ffff:127.0.0.1]/v1/logs",
  "https://169.254.169.254/v1/logs",
  "https://10.0.0.1/v1/logs",
  "https://[fd00::1]/v1/logs",
  "https://[fe80::1]/v1/logs",
  "syslog+tls://127.0.0.1:6514",
  "syslog+tls://[::1]:6514",
  "http://logs.example.com/v1/logs",
  "https://user:password@logs.example.com/v1/logs",
  "https://logs.example.com/v1/logs?token=x",
  "unix:/run/skerry/host.sock",
])("%s is refused as soon as it is said", async (url) => {
  await forwarding.newApp();
  const { status, body } = await setForward({ url });
  expect([status, body]).toMatchObject([400, { code: "bad_request", context: { field: "log_forward.url" } }]);
  expect(await forwardOf()).toBeNull();
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

test.each([
  ["loopback", ["127.0.0.1"], /private or reserved/],
  ["IPv6 loopback", ["::1"], /private or reserved/],
  ["a metadata service", ["169.254.169.254"], /private or reserved/],
  ["a private network", ["192.168.1.1"], /private or reserved/],
  ["an address within IPv6", ["::7f00:1", "64:ff9b::7f00:1"], /private or reserved/],
  ["one good address and one that is not", ["8.8.8.8", "127.0.0.1"], /private or reserved/],
  ["one good address and an IPv6 that is not", ["8.8.8.8", "fe80::1"], /private or reserved/],
  ["this machine", [ownAddress ?? "127.0.0.1"], /private or reserved|of this platform/],
  ["nothing", [], /has no address/],
])("a name that means %s is refused when lines are sent, and nothing arrives", async (_what, means, why) => {
  const id = await liveInstance();
  names.names.set("evil.test", means);
  for (const url of [`https://evil.test:${port()}/v1/logs`, `syslog+tls://evil.test:${port()}`]) {
    expect((await setForward({ url })).status).toBe(200);
    console.print(id, "hush\n");
    await forwardOnce(control({ privateCidrs: [] }));
    expect((await forwardOf())?.fault?.message).toMatch(why);
  }
  expect(arrivals).toBe(0);
});

test("a name that means something else the next time is looked at each time", async () => {
  await using receiver = await new SyslogReceiver(certificate).listen();
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, "one\n");
  await forwardOnce();
  names.names.set("logs.test", ["10.9.9.9"]);
  console.print(id, "two\n");
  await forwardOnce();
  expect([receiver.texts, (await forwardOf())?.fault?.message]).toEqual([
    ["one"],
    "logs.test is a private or reserved address.",
  ]);
});

test("hosts of the platform are out of reach, also with public addresses", async () => {
  const id = await liveInstance();
  names.names.set("host.test", ["203.0.113.9"]);
  await sql`
    update hosts set facts = facts || ${JSON.stringify({ endpoint: "203.0.113.9:7443" })}::jsonb`.execute(
    world.db,
  );
  await setForward({ url: "https://host.test/v1/logs" });
  console.print(id, "hush\n");
  await forwardOnce();
  await world.beat();
  expect((await forwardOf())?.fault?.message).toBe("host.test is an address of this platform.");
});

test("a redirect is not followed", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  receiver.answer = (response) =>
    void response.writeHead(307, { location: `http://127.0.0.1:${port()}/v1/logs` }).end();
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, "hush\n");
  await forwardOnce();
  expect([arrivals, (await forwardOf())?.fault?.message]).toEqual([0, "It answers 307."]);
});

test.each([
  ["of an authority that is unknown", "logs.test", false],
  ["for another name", "other.test", true],
])("a receiver with a certificate %s gets no line", async (_what, name, isTrusted) => {
  using shown = new Certificate(name);
  await using syslog = await new SyslogReceiver(shown).listen();
  await using otlp = await new OtlpReceiver(shown).listen();
  const caFile = isTrusted ? shown.file : undefined;
  const id = await liveInstance();
  for (const { url } of [syslog, otlp]) {
    await setForward({ url });
    console.print(id, "hush\n");
    await forwardOnce(control({ caFile }));
    expect((await forwardOf())?.fault?.message).toMatch(
      /^Its certificate or its TLS does not hold \([A-Z_]+\)\.$/,
    );
  }
  expect([syslog.texts, otlp.requests]).toEqual([[], []]);
});

test("a secret is given to a receiver by those alone who may read secrets, and of their organization", async () => {
  await world.call("PUT", "/v1/secrets/LOGS_TOKEN", { body: { value: "Bearer x-x-x-x-x" } });
  await forwarding.newApp();
  const url = "https://logs.example.com/v1/logs";
  const header = { name: "Authorization", secret: "LOGS_TOKEN" };
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["apps:read", "apps:write"] },
  });
  const asked = async (log_forward: object, token = world.token) => {
    const { status, body } = await world.call("PATCH", "/v1/apps/shop", { body: { log_forward }, token });
    return [status, body["code"]];
  };
  expect(await asked({ url, header }, minted.body.token)).toEqual([403, "forbidden"]);
  expect(await asked({ url, header: { ...header, secret: "NONE" } })).toEqual([404, "secret_not_found"]);
  expect(await asked({ url, header })).toEqual([200, undefined]);
  // Without that scope a header goes with the receiver, and none is taken over to another one.
  expect(await asked({ url: "https://evil.example.com/v1/logs" }, minted.body.token)).toEqual([
    200,
    undefined,
  ]);
  expect(await forwardOf()).toMatchObject({ url: "https://evil.example.com/v1/logs", header: null });
  const stranger = await world.strangerToken();
  await world.call("POST", "/v1/apps", { body: { name: "shop" }, token: stranger });
  expect(await asked({ url, header }, stranger)).toEqual([404, "secret_not_found"]);
});

test.each(["Host", "Content-Length", "transfer-encoding", "Connection", "A:B", "A B", "A\r\nB"])(
  "the header %j is refused",
  async (name) => {
    await world.call("PUT", "/v1/secrets/LOGS_TOKEN", { body: { value: "x" } });
    await forwarding.newApp();
    const answer = await setForward({
      url: "https://logs.example.com/v1/logs",
      header: { name, secret: "LOGS_TOKEN" },
    });
    expect(answer.status).toBe(400);
  },
);

test("a secret with an end of line is no header, and is not told", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  await world.call("PUT", "/v1/secrets/SPLIT", { body: { value: "a\r\nX-Evil: 1" } });
  const id = await liveInstance();
  await setForward({ url: receiver.url, header: { name: "Authorization", secret: "SPLIT" } });
  console.print(id, "hush\n");
  await forwardOnce();
  expect([receiver.requests, (await forwardOf())?.fault?.message]).toEqual([
    [],
    "The secret SPLIT is no value of a header.",
  ]);
});

test("a receiver that answers without an end costs a bounded time, and is cut off", async () => {
  await using receiver = await new OtlpReceiver(certificate).listen();
  receiver.answer = (response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(64 * 1024, "x");
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once("drain", more);
    };
    response.on("error", () => undefined);
    more();
  };
  const id = await liveInstance();
  await setForward({ url: receiver.url });
  console.print(id, "one\n");
  await forwardOnce();
  expect([receiver.texts, (await forwardOf())?.fault]).toEqual([["one"], null]);
});

test("syslog has no headers", async () => {
  await world.call("PUT", "/v1/secrets/LOGS_TOKEN", { body: { value: "x" } });
  await forwarding.newApp();
  const header = { name: "Authorization", secret: "LOGS_TOKEN" };
  expect((await setForward({ url: "syslog+tls://logs.example.com", header })).status).toBe(400);
});
