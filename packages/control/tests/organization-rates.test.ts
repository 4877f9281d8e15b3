// All tokens of an organization together ask too often, over two replicas that share one PostgreSQL.

import { afterAll, beforeAll, expect, test } from "vitest";
import { RateLimiter } from "../src/rate-limits/rate-limiter.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { openReplica, type Replica } from "./support/replica.ts";
import { countingQueries, granted, slowLimits, sendConcurrently } from "./support/concurrent-requests.ts";
import { done, Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let replicas: readonly [Replica, Replica];
beforeAll(async () => {
  replicas = [
    await openReplica(world, { limits: slowLimits }),
    await openReplica(world, { limits: slowLimits }),
  ];
});
afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
});

async function organizationOf(token: string): Promise<string> {
  const { body } = await world.call<{ organization_id: string }>("GET", "/v1/auth/me", { token });
  return body.organization_id;
}

/** So many tokens of an organization that has not called yet. */
async function tokensOfOne(count: number): Promise<readonly string[]> {
  const token = await world.strangerToken();
  const minted = Array.from({ length: count - 1 }, () =>
    world.call<{ token: string }>("POST", "/v1/auth/tokens", { token, body: {} }),
  );
  return [token, ...(await Promise.all(minted)).map(({ body }) => body.token)];
}

test("twelve tokens of one organization create no more than two of them could, over two replicas", async () => {
  const tokens = await tokensOfOne(12);
  await setLimits(world.db, await organizationOf(tokens[0] ?? ""), [["rate_expensive_burst", 60]]);
  let sent = 0;
  const result = await sendConcurrently(replicas, 12 * 60, (url) => {
    const token = tokens[sent++ % tokens.length] ?? "";
    return world.call("POST", "/v1/sandboxes", { url, token, body: { template: "none" } });
  });
  expect(granted(result)).toBeGreaterThanOrEqual(2 * 60);
  expect(granted(result)).toBeLessThanOrEqual(2 * (60 + result.refill));
  const refused = result.answers.filter(({ status }) => status === 429).at(-1);
  expect(refused?.body).toMatchObject({
    code: "rate_limited",
    context: { class: "expensive", of: "organization", per_minute: 120, burst: 120 },
  });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(refused?.headers.get("ratelimit-policy")).toBe('"expensive-organization";q=120;w=60;burst=120');
  expect(refused?.headers.get("ratelimit")).toMatch(/^"expensive-organization";r=0;t=\d+$/);
});

test("twelve tokens that read in leases get no more than two of them could, over two replicas", async () => {
  const tokens = await tokensOfOne(12);
  let sent = 0;
  const result = await sendConcurrently(replicas, 2_400, (url) =>
    world.call("GET", "/v1/sizes", { url, token: tokens[sent++ % tokens.length] ?? "" }),
  );
  expect(granted(result)).toBeLessThanOrEqual(2 * (640 + result.refill));
  // Leases that a token of one replica did not use up in time are lost.
  expect(granted(result)).toBeGreaterThan(640);
});

test("an organization that is over its limit holds up no other", async () => {
  const tokens = await tokensOfOne(3);
  for (const token of tokens) {
    await sendConcurrently(replicas, 20, (url) =>
      world.call("DELETE", "/v1/sandboxes/sbx_none", { url, token }),
    );
  }
  const call = (token: string) =>
    world.call("DELETE", "/v1/sandboxes/sbx_none", { url: replicas[0].url, token });
  const [neighbour] = await tokensOfOne(1);
  await eventually(async () => (await call(tokens[2] ?? "")).status === 429, "the organization is over it");
  expect((await call(neighbour ?? "")).status).toBe(404);
});

test("a token that asks when there is nothing left takes nothing from the others of its organization", async () => {
  const orgId = await organizationOf(await world.strangerToken());
  const limiter = new RateLimiter(world.db, slowLimits.organization);
  const take = (tokenId: string) => limiter.take({ tokenId, orgId }, "expensive");
  const greedy = await Promise.all(Array.from({ length: 200 }, async () => take("tok_greedy")));
  expect(greedy.filter(({ refusedForS }) => refusedForS === null).length).toBe(10);
  const modest = await Promise.all(Array.from({ length: 10 }, async () => take("tok_modest")));
  expect(modest.map(({ refusedForS }) => refusedForS)).toEqual(modest.map(() => null));
});

test("tokens whose organization has nothing left do not ask the database again and again", async () => {
  const orgId = await organizationOf(await world.strangerToken());
  let queries = 0;
  const counting = countingQueries(() => (queries += 1));
  const limiter = new RateLimiter(world.db.withPlugin(counting), {
    ...slowLimits.organization,
    rate_expensive_per_minute: 0,
  });
  const take = (tokenId: string) => limiter.take({ tokenId, orgId }, "expensive");
  for (const tokenId of ["tok_a", "tok_b"]) for (let n = 0; n < 11; n += 1) await take(tokenId);
  const before = queries;
  for (let n = 0; n < 50; n += 1) {
    expect(await take(`tok_${n}`)).toMatchObject({ of: "organization", remaining: 0 });
  }
  expect(queries).toBe(before);
});

test("an owner finds and ends four tokens of a member that flood the organization", async () => {
  const members = new Members(world);
  const { id: orgId, path: home } = await members.newOrganization();
  const { secret: owner } = await members.newMember("owner", home);
  const member = await members.newMember("member", home);
  const mint = (token: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => done(201, members.mint(token))));
  const [doomed, flooding] = [await mint(owner, 25), await mint(member.secret, 4)];
  // The owner's own bucket has tickets for all of it, the organization's has none.
  await setLimits(world.db, orgId, [
    ["rate_write_burst", 40],
    ["rate_read_burst", 40],
  ]);
  const flood = new AbortController();
  const answers: number[] = [];
  const floods = flooding.flatMap(({ token }) =>
    [
      ["DELETE", "/v1/sandboxes/sbx_00000000000000000000000000"],
      ["GET", "/v1/sizes"],
    ].map(async ([method = "", path = ""]) => {
      while (!flood.signal.aborted)
        answers.push((await world.call(method, path, { token, url: replicas[0].url })).status);
    }),
  );
  const isEmpty = async (method: string, path: string) => {
    const token = doomed[0]?.token ?? "";
    const { body } = await world.call(method, path, { token, url: replicas[0].url });
    return (body["context"] as { of?: string } | undefined)?.of === "organization";
  };
  await eventually(
    async () =>
      (await isEmpty("DELETE", "/v1/sandboxes/sbx_00000000000000000000000000")) &&
      (await isEmpty("GET", "/v1/sizes")),
    "the organization's tickets are used up",
  );
  const call = (method: string, path: string, url: string) =>
    world.call<{ items: { id: string; name: string }[] }>(method, path, { token: owner, url });
  const listed = await call("GET", "/v1/auth/tokens?limit=100", replicas[0].url);
  expect(listed.status, listed.text).toBe(200);
  expect((await call("GET", `${home}/members`, replicas[1].url)).status).toBe(200);
  const { token_id: own } = await members.me(owner);
  const others = listed.body.items.filter(({ id }) => id !== own && id !== member.token.id);
  const ended = await Promise.all(
    others
      .slice(0, 25)
      .map(({ id }, n) => call("DELETE", `/v1/auth/tokens/${id}`, replicas[n % 2]?.url ?? "")),
  );
  expect(ended.map(({ status }) => status)).toEqual(Array.from({ length: 25 }, () => 204));
  const gone = await call("DELETE", `${home}/members/${member.user_id}`, replicas[1].url);
  expect(gone.status, gone.text).toBe(204);
  flood.abort();
  await Promise.all(floods);
  expect(answers).toContain(429);
  // What the member had has ended; what is the owner's goes on.
  for (const { token } of flooding)
    expect((await world.call("GET", "/v1/auth/me", { token })).status).toBe(401);
});
