// The keys of signed URLs and of what E2B's clients get: sealed, changed by the operator, and changed once by the upgrade that sealed them.

import { createHmac, randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { Sandbox } from "e2b-2.51";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { buildServer } from "../src/app/server.ts";
import { makeContext } from "../src/app/make-context.ts";
import { migrate } from "../src/db/migrations.ts";
import {
  checkSigningKeys,
  retireSigningKeys,
  rotateSigningKey,
} from "../src/signing/signing-key-commands.ts";
import { SigningKeys } from "../src/signing/signing-keys.ts";
import { createE2bSandbox, e2bOptions, headersInto, nativeId, type E2bSandbox } from "./support/e2b.ts";
import { World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(async () => {
  vi.restoreAllMocks();
  aheadMs = 0;
  await world[Symbol.asyncDispose]();
});

const replica = () => new SigningKeys(world.db, world.context.sealing);
const code = async (keys: SigningKeys) => (await keys.keys()).sign("signed url", "x");
const accepts = async (keys: SigningKeys, one: Buffer) =>
  (await keys.keys()).isSigned("signed url", "x", one);

const monotonic = performance.now.bind(performance);
let aheadMs = 0;

/** As when this time has passed, for what this process keeps in memory. */
function goOn(ms: number): void {
  aheadMs += ms;
  vi.spyOn(performance, "now").mockImplementation(() => monotonic() + aheadMs);
}

/** As when all replicas know the newest key. */
async function asKnownEverywhere(): Promise<void> {
  await sql`update signing_keys set created_at = created_at - interval '1 minute'`.execute(world.db);
}

const rotate = () => rotateSigningKey(world.db, world.context.sealing);

test("all replicas sign with one key, which is made once and sealed", async () => {
  const codes = await Promise.all([replica(), replica(), replica()].map(code));
  expect(new Set(codes.map((one) => one.toString("hex"))).size).toBe(1);
  expect(await checkSigningKeys(world.db, world.context.sealing)).toEqual([
    { id: expect.stringMatching(/^sgk_/), created_at: expect.any(String), signs: true, opens: true },
  ]);
});

test("a code for one purpose is none for another", async () => {
  const keys = await replica().keys();
  const purposes = ["signed url", "e2b access", "e2b traffic", "e2b upload"] as const;
  for (const one of purposes)
    for (const other of purposes) expect(keys.isSigned(other, "x", keys.sign(one, "x"))).toBe(one === other);
});

test("a new key signs once every replica knows it, and the one before is accepted until it is retired", async () => {
  const running = replica();
  const before = await code(running);
  await asKnownEverywhere();
  const { id, signs_in_s, accepted } = await rotate();
  expect([signs_in_s, accepted.length]).toEqual([30, 1]);
  // One that has not looked yet accepts what one signs that has.
  expect(await accepts(running, await code(replica()))).toBe(true);
  expect(await code(replica())).toEqual(before);
  await asKnownEverywhere();
  goOn(10_001);
  const after = await code(running);
  expect(after).not.toEqual(before);
  expect(await accepts(running, before)).toBe(true);
  expect((await checkSigningKeys(world.db, world.context.sealing)).map(({ signs }) => signs)).toEqual([
    true,
    false,
  ]);
  expect((await retireSigningKeys(world.db)).retired).toEqual(accepted);
  goOn(10_001);
  expect(await accepts(running, before)).toBe(false);
  expect(await accepts(running, after)).toBe(true);
  expect((await checkSigningKeys(world.db, world.context.sealing)).map((key) => key.id)).toEqual([id]);
  expect((await retireSigningKeys(world.db)).retired).toEqual([]);
});

test("a second change retires the key before the last, also where none is known everywhere yet", async () => {
  const first = await code(replica());
  await rotate();
  const second = await rotate();
  expect([second.accepted.length, second.retired.length]).toEqual([1, 1]);
  const now = replica();
  expect(await accepts(now, first)).toBe(false);
  expect(await accepts(replica(), await code(now))).toBe(true);
});

test("a replica looks for changes without having a request wait, and waits for that look when the last is old", async () => {
  const keys = replica();
  const before = await keys.keys();
  await rotate();
  goOn(5_001);
  expect(await keys.keys()).toBe(before);
  await vi.waitFor(async () => expect(await keys.keys()).not.toBe(before));
  const now = await keys.keys();
  await rotate();
  goOn(10_001);
  expect(await keys.keys()).not.toBe(now);
});

test("without the root key nothing is signed, and a process that has opened the key goes on", async () => {
  const running = replica();
  await code(running);
  const file = readFileSync(world.rootKeyFile);
  rmSync(world.rootKeyFile);
  goOn(10_001);
  await code(running);
  await expect(code(replica())).rejects.toMatchObject({ code: "secrets_unavailable" });
  await expect(rotate()).rejects.toMatchObject({ code: "secrets_unavailable" });
  expect((await checkSigningKeys(world.db, world.context.sealing)).map(({ opens }) => opens)).toEqual([
    false,
  ]);
  writeFileSync(world.rootKeyFile, file, { mode: 0o400 });
  await code(replica());
  await sql`update signing_keys set sealed_key = set_byte(sealed_key, 40, (get_byte(sealed_key, 40) + 1) % 256)`.execute(
    world.db,
  );
  await expect(code(replica())).rejects.toMatchObject({ code: "secret_damaged" });
});

test("where no root key file is set, URLs are not signed, and the answer says why", async () => {
  const context = { ...world.context, ...unsealed() };
  const server = await buildServer(context);
  world.after(() => server.stop(0));
  const { id } = await world.createSandbox();
  const answer = await server.app.inject({
    method: "POST",
    url: `/v1/sandboxes/${id}/urls`,
    headers: { authorization: `Bearer ${world.token}` },
    payload: { port: 1 },
  });
  expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([503, "secrets_unavailable"]);
});

function unsealed() {
  const { sealing, signing } = makeContext(world.db, world.context.log, { limits: world.context.limits });
  return { sealing, signing };
}

const HASH = "ab".repeat(32);

/** What there is that the signing key has signed, and the status of the answer to each. */
async function signedThings() {
  const sandbox = await createE2bSandbox(world, { network: { allowPublicTraffic: false } });
  const id = nativeId(sandbox.sandboxID);
  const made = (await connectTo(sandbox)) as E2bSandbox & { trafficAccessToken: string };
  const url = await world.call<{ url: string }>("POST", `/v1/sandboxes/${id}/urls`, { body: { path: "/x" } });
  const upload = await world.call<{ url: string }>("GET", `/e2b/templates/any/files/${HASH}`);
  const client = await Sandbox.connect(sandbox.sandboxID, e2bOptions(world));
  await client.files.write("/tmp/x", "text");
  const file = await client.downloadUrl("/tmp/x");
  const status = async (...asked: Parameters<typeof fetch>) => {
    const answer = await fetch(...asked);
    return [answer.status, await answer.text()] as const;
  };
  const port = { ...headersInto(made), "e2b-sandbox-port": "8000" };
  return {
    sandbox,
    tryAll: async () => ({
      url: await status(url.body.url),
      access: await status(`${world.url}/e2b/sandbox/health`, { headers: headersInto(made) }),
      traffic: await status(`${world.url}/e2b/sandbox/`, {
        headers: { ...port, "e2b-traffic-access-token": made.trafficAccessToken },
      }),
      upload: await status(upload.body.url, { method: "PUT", body: "x" }),
      file: await status(file),
    }),
  };
}

async function connectTo({ sandboxID }: E2bSandbox): Promise<E2bSandbox> {
  const answer = await world.call<E2bSandbox>("POST", `/e2b/sandboxes/${sandboxID}/connect`, {
    body: { timeout: 300 },
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body;
}

const statusesOf = (answers: Readonly<Record<string, readonly [number, string]>>) =>
  Object.fromEntries(Object.entries(answers).map(([what, [status]]) => [what, status]));

const good = { url: 404, access: 204, traffic: 502, upload: 200, file: 200 };
const refused = { url: 403, access: 401, traffic: 403, upload: 401, file: 401 };

test("what was given to clients goes on after a change of the key, ends when the one before is retired, and is given anew", async () => {
  const { sandbox, tryAll } = await signedThings();
  expect(statusesOf(await tryAll())).toEqual(good);
  await asKnownEverywhere();
  await rotate();
  await asKnownEverywhere();
  goOn(10_001);
  expect(statusesOf(await tryAll())).toEqual(good);
  const next = await connectTo(sandbox);
  expect(next.envdAccessToken).not.toBe(sandbox.envdAccessToken);
  await retireSigningKeys(world.db);
  goOn(10_001);
  const ended = await tryAll();
  expect(statusesOf(ended)).toEqual(refused);
  expect(ended.access[1]).toContain("Connect to the sandbox again");
  expect(ended.url[1]).toContain("ask for another one");
  const health = { headers: headersInto(next) };
  expect((await fetch(`${world.url}/e2b/sandbox/health`, health)).status).toBe(204);
  expect(statusesOf(await (await signedThings()).tryAll())).toEqual(good);
});

test("an access token is known to replicas that did not give it, and ends with its row", async () => {
  const sandbox = await createE2bSandbox(world);
  const health = async () => {
    const other = await buildServer(world.contextWith({ signing: replica() }));
    const answer = await other.app.inject({ url: "/e2b/sandbox/health", headers: headersInto(sandbox) });
    await other.stop(0);
    return answer.statusCode;
  };
  expect(await health()).toBe(204);
  await sql`update e2b_accesses set tokens_sha256 = '{}'`.execute(world.db);
  expect(await health()).toBe(401);
});

test("a client of a sandbox that has ended is told so, also by a replica that did not give the token and after its row was forgotten", async () => {
  const sandbox = await createE2bSandbox(world);
  const destroyed = await world.call("DELETE", `/v1/sandboxes/${nativeId(sandbox.sandboxID)}`);
  expect(destroyed.status).toBe(204);
  await sql`delete from e2b_accesses`.execute(world.db);
  const other = await buildServer(world.contextWith({ signing: replica() }));
  world.after(() => other.stop(0));
  const answer = await other.app.inject({ url: "/e2b/sandbox/health", headers: headersInto(sandbox) });
  expect([answer.statusCode, answer.json<{ code: number }>().code]).toEqual([502, 502]);
});

test("the upgrade leaves no key in the clear, and what that has signed opens nothing", async () => {
  const { tryAll, sandbox } = await signedThings();
  const id = nativeId(sandbox.sandboxID);
  const key = randomBytes(32);
  await asVersionBefore(key);
  expect(await migrate(world.db)).toBe(1);
  goOn(10_001);
  expect(statusesOf(await tryAll())).toEqual(refused);
  const { rows } = await sql`select key from url_signing_keys`.execute(world.db);
  expect(rows).toEqual([]);
  const expires = Math.floor(Date.now() / 1_000) + 600;
  const text = `${world.orgId}\n${id}\n${expires}\nGET /x`;
  const signature = createHmac("sha256", key).update(text).digest("base64url");
  const answer = await fetch(`${world.url}/v1/sandboxes/${id}/files/x?_skerry=${expires}.${signature}`);
  expect(answer.status).toBe(403);
  // What its clients do next.
  const health = { headers: headersInto(await connectTo(sandbox)) };
  expect((await fetch(`${world.url}/e2b/sandbox/health`, health)).status).toBe(204);
});

/** The database as that version leaves it, with its key. */
async function asVersionBefore(key: Buffer): Promise<void> {
  await sql`drop table signing_keys`.execute(world.db);
  await sql`alter table e2b_accesses drop column tokens_sha256`.execute(world.db);
  await sql`alter table join_tokens drop column sealed_digest`.execute(world.db);
  await sql`delete from schema_migrations where number = 50`.execute(world.db);
  await sql`insert into url_signing_keys (key) values (${key})`.execute(world.db);
}

test("the version before goes on beside it, and can be gone back to", async () => {
  const sandbox = await createE2bSandbox(world);
  const id = nativeId(sandbox.sandboxID);
  // Its statements.
  await sql`insert into url_signing_keys (key) values (${randomBytes(32)}) on conflict do nothing`.execute(
    world.db,
  );
  expect((await sql`select key from url_signing_keys`.execute(world.db)).rows.length).toBe(1);
  for (const digest of ["a".repeat(64), await ownDigest(id)])
    await sql`
      insert into e2b_accesses (sandbox_id, org_id, secret_sha256) values (${id}, ${world.orgId}, ${digest})
      on conflict (sandbox_id, secret_sha256) do update set noted_at = now()`.execute(world.db);
  const { rows } = await sql<{ user_id: string }>`select user_id from memberships limit 1`.execute(world.db);
  await sql`
    insert into join_tokens (id, secret_sha256, org_id, created_by, expires_at)
    values ('jtk_x', ${randomBytes(32)}, ${world.orgId}, ${rows[0]?.user_id}, now())`.execute(world.db);
  // What was given away by this version counts all the same.
  const health = { headers: headersInto(sandbox) };
  expect((await fetch(`${world.url}/e2b/sandbox/health`, health)).status).toBe(204);
});

async function ownDigest(id: string): Promise<string> {
  const { rows } = await sql<{ secret_sha256: string }>`
    select secret_sha256 from e2b_accesses where sandbox_id = ${id}`.execute(world.db);
  return rows[0]?.secret_sha256 ?? "";
}
