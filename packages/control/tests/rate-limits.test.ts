// Who asks too often, by token and by address, over several replicas that share one PostgreSQL.

import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { neighbourhood } from "@skerry/contract/connections/neighbourhood";
import { limitDefaults } from "@skerry/contract/limits/quotas";
import { RateLimiter } from "../src/rate-limits/rate-limiter.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { openReplica, type Replica } from "./support/replica.ts";
import { countingQueries, granted, sendConcurrently, slowLimits } from "./support/concurrent-requests.ts";
import { type Answer, eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let replicas: readonly [Replica, Replica];
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  replicas = [
    await openReplica(world, { limits: slowLimits, trustedProxies: ["127.0.0.1"] }),
    await openReplica(world, { limits: slowLimits, trustedProxies: ["127.0.0.1"] }),
  ];
});
afterAll(async () => {
  for (const replica of replicas) await replica[Symbol.asyncDispose]();
});

/** The only one of a new organization, so that no test meets the limit of an organization by accident. */
const freshToken = (): Promise<string> => world.strangerToken();

async function organizationOf(token: string): Promise<string> {
  const { body } = await world.call<{ organization_id: string }>("GET", "/v1/auth/me", { token });
  return body.organization_id;
}

describe("by token", () => {
  test("a clock that was set back by hours refuses nobody for so long", async () => {
    const token = await freshToken();
    const read = () => world.call("GET", "/v1/sandboxes", { token, url: replicas[0].url });
    expect((await read()).status).toBe(200);
    const orgId = await organizationOf(token);
    await sql`
      update rate_buckets set available = 0, refilled_at = now() + interval '2 hours'
      where token_id = ${orgId} or token_id in (select id from api_tokens where org_id = ${orgId})`.execute(
      world.db,
    );
    await eventually(async () => (await read()).status === 429, "it is refused");
    await eventually(async () => (await read()).status === 200, "it is let through");
  });

  test("two replicas together create as many sandboxes as the burst allows, and not one more", async () => {
    const token = await freshToken();
    const result = await sendConcurrently(replicas, 60, (url) =>
      world.call("POST", "/v1/sandboxes", { url, token, body: { template: "base" } }),
    );
    expect(granted(result)).toBeGreaterThanOrEqual(10);
    expect(granted(result)).toBeLessThanOrEqual(10 + result.refill);
    const refused = result.answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({
      code: "rate_limited",
      context: { class: "expensive", per_minute: 60, burst: 10 },
    });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  });

  test("two replicas together answer as many reads as the burst allows, and not one more", async () => {
    const token = await freshToken();
    const result = await sendConcurrently(replicas, 1_500, (url) =>
      world.call("GET", "/v1/sizes", { url, token }),
    );
    expect(granted(result)).toBeLessThanOrEqual(640 + result.refill);
    // A lease that one replica did not use up in time is lost.
    expect(granted(result)).toBeGreaterThan(600);
  });

  test("tickets that lie ready in three replicas do not come on top of a full bucket", async () => {
    const [burst, perMs] = [6_400, 1];
    const policy = { ...limitDefaults, rate_read_burst: burst, rate_read_per_minute: perMs * 60_000 };
    const limiters = [1, 2, 3].map(() => new RateLimiter(world.db, policy));
    const caller = { tokenId: "tok_pause", orgId: "org_pause" };
    const take = async (limiter: RateLimiter | undefined) =>
      (await limiter?.take(caller, "read"))?.refusedForS === null;
    // So many in a row that each gets its largest lease, and stops in the middle of it.
    for (const limiter of limiters) for (let n = 0; n < 160; n += 1) await take(limiter);
    // As long as it takes to fill the bucket again, and not so long that the leases end.
    await new Promise((resolve) => setTimeout(resolve, 450));
    const startedMs = performance.now();
    let taken = 0;
    for (let n = 0; n < 2 * burst; n += 1) if (await take(limiters[n % 3])) taken += 1;
    expect(taken).toBeGreaterThan(burst / 2);
    expect(taken).toBeLessThanOrEqual(burst + (performance.now() - startedMs) * perMs);
  });

  test("a token that reads all the time does not ask the database for every ticket", async () => {
    let queries = 0;
    const counting = countingQueries(() => (queries += 1));
    const limiter = new RateLimiter(world.db.withPlugin(counting), {
      ...limitDefaults,
      rate_read_burst: 1_000_000,
      rate_read_per_minute: 1_000_000,
    });
    for (let n = 0; n < 5_000; n += 1) {
      expect((await limiter.take({ tokenId: "tok_busy", orgId: "org_busy" }, "read")).refusedForS).toBeNull();
    }
    expect(queries).toBeGreaterThan(0);
    expect(queries).toBeLessThan(200);
  });

  test("every answer says what the limit is, and what is left of it", async () => {
    const token = await freshToken();
    const call = () => world.call("GET", "/v1/sizes", { url: replicas[0].url, token });
    const [first, second] = [await call(), await call()];
    expect(first.headers.get("ratelimit-policy")).toBe('"read";q=60;w=60;burst=640');
    const remaining = (answer: Answer) =>
      Number(/^"read";r=(\d+);t=\d+$/.exec(answer.headers.get("ratelimit") ?? "")?.[1]);
    expect(remaining(first)).toBeGreaterThan(600);
    expect(remaining(second)).toBeLessThan(remaining(first));
    const health = await world.call("GET", "/v1/health", { url: replicas[0].url });
    expect(health.headers.has("ratelimit")).toBe(false);
  });

  test("a token that is over its limit holds up no other, and no other class", async () => {
    const busy = await freshToken();
    const { body } = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
      token: busy,
      body: {},
    });
    const idle = body.token;
    const mint = (token: string) =>
      world.call("POST", "/v1/auth/tokens", { url: replicas[0].url, token, body: {} });
    const answers = await Promise.all(Array.from({ length: 20 }, () => mint(busy)));
    expect(answers.map(({ status }) => status)).toContain(429);
    expect((await mint(idle)).status).toBe(201);
    expect((await world.call("GET", "/v1/sizes", { url: replicas[0].url, token: busy })).status).toBe(200);
  });

  test("calls that are forbidden cost a ticket as well", async () => {
    const { body } = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
    await sql`update api_tokens set scopes = '{templates:read}' where id = ${body.id}`.execute(world.db);
    const statuses = new Set<number>();
    await eventually(async () => {
      const answer = await world.call("POST", "/v1/sandboxes/sbx_x/keepalive", {
        url: replicas[0].url,
        token: body.token,
        body: {},
      });
      statuses.add(answer.status);
      return answer.status === 429;
    }, "the bucket is empty");
    expect(statuses).toEqual(new Set([403, 429]));
  });

  test("an operator's exception for one organization counts there and nowhere else", async () => {
    const token = await freshToken();
    const another = await world.call<{ token: string }>("POST", "/v1/auth/tokens", { token, body: {} });
    const orgId = await organizationOf(token);
    await setLimits(world.db, orgId, [
      ["rate_write_burst", 2],
      ["rate_write_per_minute", 1],
    ]);
    const call = (asked: string) =>
      world.call("DELETE", "/v1/sandboxes/sbx_none", { url: replicas[0].url, token: asked });
    const statuses = [await call(token), await call(token), await call(token)].map(({ status }) => status);
    const stranger = await call(await freshToken());
    await setLimits(world.db, orgId, [
      ["rate_write_burst", null],
      ["rate_write_per_minute", null],
    ]);
    expect(statuses).toEqual([404, 404, 429]);
    expect(stranger.headers.get("ratelimit-policy")).toBe('"write";q=60;w=60;burst=20');
    const after = await call(another.body.token);
    expect(after.headers.get("ratelimit-policy")).toBe('"write-organization";q=120;w=60;burst=40');
  });
});

describe("by address", () => {
  const from = (address: string, token: string) =>
    world.call("GET", "/v1/sizes", { url: replicas[0].url, token, headers: { "x-forwarded-for": address } });

  /** Has the shape of a token. */
  const guessed = (n: number) => `sk_${String(n).padStart(43, "x")}`;

  /** Sends tokens that are none until the address is refused; returns all statuses. */
  async function guess(address: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let n = 0; n < 30; n += 1) statuses.push((await from(address, guessed(n))).status);
    return statuses;
  }

  test("an address that sends invalid tokens is refused after a few, and told when to come again", async () => {
    const statuses = await guess("192.0.2.1");
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
    expect(statuses.at(-1)).toBe(429);
    const refused = await from("192.0.2.1", guessed(99));
    expect(refused.body).toMatchObject({ code: "rate_limited", context: { class: "authentication" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await from("192.0.2.2", guessed(99))).status).toBe(401);
  });

  test("a token that has been valid here is not held up by its neighbours' failures", async () => {
    const known = await freshToken();
    expect((await from("192.0.2.10", known)).status).toBe(200);
    expect((await guess("192.0.2.10")).at(-1)).toBe(429);
    expect((await from("192.0.2.10", known)).status).toBe(200);
  });

  test("a token that is new here gets in behind such an address all the same, when it tries again", async () => {
    const fresh = await freshToken();
    expect((await guess("192.0.2.20")).at(-1)).toBe(429);
    await eventually(async () => (await from("192.0.2.20", fresh)).status === 200, "it gets in");
  });

  test("the addresses of one IPv6 customer count as one", async () => {
    expect((await guess("2001:db8:0:1::1")).at(-1)).toBe(429);
    expect((await from("2001:db8:0:1:ffff::2", guessed(99))).status).toBe(429);
    expect((await from("2001:db8:0:2::1", guessed(99))).status).toBe(401);
  });

  test("without a trusted proxy nobody chooses an address", async () => {
    await using direct = await openReplica(world, { limits: slowLimits });
    const statuses: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      const headers = { "x-forwarded-for": `198.51.100.${n}` };
      statuses.push(
        (await world.call("GET", "/v1/sizes", { url: direct.url, token: guessed(n), headers })).status,
      );
    }
    expect(statuses.at(-1)).toBe(429);
  });

  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001::9", "2001:db8:1:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("%s is counted as %s", (address, expected) => {
    expect(neighbourhood(address)).toBe(expected);
  });
});
