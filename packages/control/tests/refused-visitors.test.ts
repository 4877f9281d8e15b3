// Requests that are refused before their caller is known: beyond the limit of their address none of them costs a look into the database.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { AddressInfo } from "node:net";
import { makeContext } from "../src/app/make-context.ts";
import { operations } from "../src/app/operations.ts";
import { buildServer, type Server } from "../src/app/server.ts";
import { TRAFFIC_HEADER } from "../src/vms/signed-urls/traffic-token.ts";
import { countingQueries, slowLimits } from "./support/concurrent-requests.ts";
import { createE2bSandbox } from "./support/e2b.ts";
import { done, Members } from "./support/members.ts";
import { useWorld, type Answer } from "./support/world.ts";

const world = useWorld();
let server: Server;
let url = "";
let queries = 0;

beforeAll(async () => {
  const { log, wake, sealing, clients } = world.context;
  const db = world.db.withPlugin(countingQueries(() => (queries += 1)));
  const limits = { ...slowLimits, organization: world.context.limits.organization };
  const context = makeContext(db, log, { limits, wake, sealing, clients });
  server = await buildServer(context, { trustedProxies: ["127.0.0.1"] });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
});
afterAll(() => server.stop(0));

/** `visitorsPerMinute` and `authFailuresPerMinute` of `slowLimits` allow half of it at once. */
const AT_ONCE = 10;
let addresses = 0;

/** Sends the request until its address has no ticket, and then some more. */
async function repeat(
  send: (headers: Record<string, string>, n: number) => Promise<Answer>,
  expected: number,
) {
  addresses += 1;
  const headers = { "x-forwarded-for": `192.0.2.${addresses}` };
  const statuses: number[] = [];
  for (let n = 0; n < AT_ONCE; n += 1) statuses.push((await send(headers, n)).status);
  expect(statuses).toEqual(Array.from({ length: AT_ONCE }, () => expected));
  // Some more are allowed by the time that has passed.
  for (let n = AT_ONCE; ; n += 1) {
    expect(n).toBeLessThan(100);
    const before = queries;
    const { status, body, headers: told } = await send(headers, n);
    if (status !== 429) continue;
    expect(queries).toBe(before);
    expect(body["code"]).toBe("rate_limited");
    expect(Number(told.get("retry-after"))).toBeGreaterThanOrEqual(1);
    return;
  }
}

const admitting = Object.entries(operations).filter(
  ([, { access }]) => access !== "public" && access.admit !== undefined,
);

test("some operations let in callers without a token", () => {
  expect(admitting.map(([id]) => id).toSorted()).toEqual([
    "downloadFile",
    "downloadMachineFile",
    "requestMachinePort",
    "requestSandboxPort",
    "uploadFile",
    "uploadMachineFile",
  ]);
});

const fill = (path: string, id: string) =>
  path.replace(":id", id).replace(":port", "8000").replace("*", "etc/passwd");

async function vmOf(path: string): Promise<string> {
  const { id } = path.includes("/machines/") ? await world.createMachine() : await world.createSandbox();
  return fill(path, id);
}

test.each(admitting)("%s with an invalid signature is limited by address", async (_id, { method, path }) => {
  const place = await vmOf(path);
  const verb = method === "ANY" ? "POST" : method;
  const body = verb === "GET" ? {} : { body: "x" };
  const octets = { "content-type": "application/octet-stream" };
  await repeat(
    (headers, n) =>
      world.call(verb, `${place}?_skerry=1795392000.${String(n).padStart(43, "x")}`, {
        ...{ url, token: "", ...body },
        headers: { ...headers, ...(verb !== "GET" && octets) },
      }),
    403,
  );
});

test.each(admitting.filter(([, { path }]) => path.includes("/ports/")))(
  "%s without a token is limited by address",
  async (_id, { path }) => {
    const place = await vmOf(path);
    await repeat((headers) => world.call("GET", place, { url, token: "", headers }), 401);
  },
);

test("a closed port of a sandbox of E2B's clients is limited by address", async () => {
  const { sandboxID } = await createE2bSandbox(world, { network: { allowPublicTraffic: false } });
  await repeat((headers, n) => {
    const wanted = { "e2b-sandbox-id": sandboxID, "e2b-sandbox-port": "8000", [TRAFFIC_HEADER]: `ta_${n}` };
    return world.call("GET", "/e2b/sandbox/x", { url, token: "", headers: { ...headers, ...wanted } });
  }, 403);
});

test("a valid token that names organizations of others is limited by address, and still works in its own", async () => {
  const members = new Members(world);
  const stranger = await members.newOrganization();
  const alone = await members.newMember("member");
  const ask = (headers: Record<string, string>) =>
    world.call("GET", "/v1/sizes", { url, token: alone.secret, headers });
  await repeat((headers) => ask({ ...headers, "x-org-id": stranger.id }), 404);
  expect((await ask({ "x-forwarded-for": "198.51.100.1" })).status).toBe(200);
  expect((await ask({ "x-forwarded-for": `192.0.2.${addresses}` })).status).toBe(200);
});

test("a token that was valid is limited by address once it is revoked", async () => {
  const members = new Members(world);
  const { id, token } = await done(201, members.mint(world.token));
  const ask = (headers: Record<string, string>) => world.call("GET", "/v1/sizes", { url, token, headers });
  expect((await ask({ "x-forwarded-for": "198.51.100.2" })).status).toBe(200);
  expect((await world.call("DELETE", `/v1/auth/tokens/${id}`, { url })).status).toBe(204);
  await repeat(ask, 401);
});
