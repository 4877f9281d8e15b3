// Secrets: who sets and sees them, and that no other place than their sealed column has a value.

import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { SECRETS_MAX } from "@skerry/contract/secrets/secret-bounds";
import type { Secret, SecretHistory, SecretList } from "@skerry/contract/secrets/secret";
import { formatRootKeys, newRootKey } from "@skerry/contract/sealing/root-key-file";
import { openSecrets } from "../src/secrets/secrets.ts";
import { findSecrets } from "../src/secrets/secret-store.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const VALUE = "correct-horse-battery-staple";

afterEach(async () => {
  await sql`delete from secret_versions`.execute(world.db);
});

const set = (value: string, name = "API_KEY", token = world.token) =>
  world.call<Secret>("PUT", `/v1/secrets/${name}`, { token, body: { value } });

/** Values as a microVM would get them. */
async function values(orgId = world.orgId): Promise<Readonly<Record<string, string>>> {
  const scope = { orgId, scope: "organization" };
  const names = (await findSecrets(world.db, scope)).map(({ name }) => name);
  const opened = await openSecrets(world.context, [scope], names);
  return Object.fromEntries([...opened].map(([name, { value }]) => [name, value]));
}

async function raw(body: Buffer, type = "application/octet-stream") {
  const answer = await fetch(`${world.url}/v1/secrets/API_KEY`, {
    method: "PUT",
    headers: { authorization: `Bearer ${world.token}`, "content-type": type },
    body: new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

test("a secret is set, listed without its value, replaced, rolled back and deleted", async () => {
  const first = await set(VALUE);
  expect([first.status, first.body]).toEqual([
    200,
    {
      name: "API_KEY",
      version: 1,
      digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      set_by: expect.stringMatching(/^usr_/) as string,
      set_at: expect.any(String) as string,
    },
  ]);
  expect((await world.call<SecretList>("GET", "/v1/secrets")).body).toEqual({ items: [first.body] });
  await set("another");
  expect(await values()).toEqual({ API_KEY: "another" });
  const rolled = await world.call<Secret>("POST", "/v1/secrets/API_KEY/rollback", { body: { version: 1 } });
  expect(rolled.body).toMatchObject({ version: 3, digest: first.body.digest });
  expect(await values()).toEqual({ API_KEY: VALUE });
  const { body } = await world.call<SecretHistory>("GET", "/v1/secrets/API_KEY");
  expect(body.versions.map(({ version, rolled_back_to }) => [version, rolled_back_to])).toEqual([
    [3, 1],
    [2, null],
    [1, null],
  ]);
  expect(await world.call("DELETE", "/v1/secrets/API_KEY")).toMatchObject({
    status: 200,
    body: { name: "API_KEY", still_in: [] },
  });
  for (const [method, path] of [
    ["DELETE", ""],
    ["GET", ""],
    ["POST", "/rollback"],
  ] as const) {
    const refused = await world.call(method, `/v1/secrets/API_KEY${path}`, {
      ...(method === "POST" && { body: { version: 1 } }),
    });
    expect(refused).toMatchObject({ status: 404, body: { code: "secret_not_found" } });
  }
});

test("a value comes as JSON or as it is, up to 64 KiB of UTF-8", async () => {
  const pem = '-----BEGIN KEY-----\n"quoted" \\ é\n-----END KEY-----\n';
  expect((await raw(Buffer.from(pem))).status).toBe(200);
  expect(await values()).toEqual({ API_KEY: pem });
  const most = randomBytes(32 * 1024).toString("hex");
  expect((await raw(Buffer.from(most))).status).toBe(200);
  expect(await values()).toEqual({ API_KEY: most });
  const refused = [
    [Buffer.alloc(0), 400],
    [Buffer.from([0xff, 0xfe]), 400],
    [Buffer.from("a\0b"), 400],
    [Buffer.from(`${most}x`), 400],
    [Buffer.from("é".repeat(33 * 1024)), 413],
  ] as const;
  for (const [bytes, status] of refused) {
    const { status: got, body } = await raw(bytes);
    expect([bytes.length, got]).toEqual([bytes.length, status]);
    const text = bytes.subarray(0, 100).toString();
    expect(text !== "" && JSON.stringify(body).includes(text)).toBe(false);
  }
  expect(await raw(Buffer.from("x"), "text/plain")).toMatchObject({ status: 415 });
  expect(await values()).toEqual({ API_KEY: most });
});

test.each(["1A", "a-b", "A.B", "", "A B", "é", "A".repeat(129), "__proto__x."])(
  "what is no name of a variable is refused: %j",
  async (name) => {
    expect((await set("x", encodeURIComponent(name))).status).toBeGreaterThanOrEqual(400);
    expect(await values()).toEqual({});
  },
);

test("the last ten versions are kept, and a rollback to one before them says which there are", async () => {
  for (let version = 1; version <= 12; version += 1) await set(`value ${version}`);
  const { body } = await world.call<SecretHistory>("GET", "/v1/secrets/API_KEY");
  expect(body.versions.map(({ version }) => version)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  const refused = await world.call("POST", "/v1/secrets/API_KEY/rollback", { body: { version: 2 } });
  expect(refused).toMatchObject({
    status: 404,
    body: { code: "secret_not_found", remediation: "It has 12, 11, 10, 9, 8, 7, 6, 5, 4, 3." },
  });
});

test("two that set one at the same time get a version each, and none is lost", async () => {
  const answers = await Promise.all(["a", "b", "c", "d"].map((value) => set(value)));
  expect(new Set(answers.map(({ body }) => body.version))).toEqual(new Set([1, 2, 3, 4]));
});

test("an organization has 256 names at most", async () => {
  await set("x", "FIRST");
  await sql`
    insert into secret_versions select org_id, scope, 'S' || n, 1, sealed_value, digest, null, set_by, now()
    from secret_versions, generate_series(2, ${SECRETS_MAX}) n`.execute(world.db);
  expect(await set("x", "ONE_MORE")).toMatchObject({
    status: 403,
    body: { code: "quota_exceeded", context: { quota: "secrets", limit: SECRETS_MAX } },
  });
  expect((await set("y", "FIRST")).status).toBe(200);
});

test("the same value has the same digest in one organization, and another one elsewhere", async () => {
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  const [own, again, theirs] = [
    await set(VALUE),
    await set(VALUE, "OTHER"),
    await set(VALUE, "API_KEY", token),
  ];
  expect(again.body.digest).toBe(own.body.digest);
  expect(theirs.body.digest).not.toBe(own.body.digest);
});

test("another organization neither sees nor opens them, also when the row is made its own", async () => {
  await set(VALUE);
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  await set("theirs", "THEIRS", token);
  expect((await world.call("GET", "/v1/secrets/API_KEY", { token })).status).toBe(404);
  await sql`
    update secret_versions a set sealed_value = b.sealed_value from secret_versions b
    where a.org_id = ${id} and b.org_id = ${world.orgId}`.execute(world.db);
  await expect(values(id)).rejects.toMatchObject({ code: "secret_damaged" });
});

test("a value of one name does not open as that of another, nor an older one as the newer", async () => {
  await set("first");
  await set("second");
  await set("other", "OTHER");
  await sql`
    update secret_versions set sealed_value = (
      select sealed_value from secret_versions where name = 'API_KEY' and version = 1)
    where name = 'OTHER' or version = 2`.execute(world.db);
  await expect(values()).rejects.toMatchObject({ code: "secret_damaged" });
});

test("no table, no log line, no error and no audit event has a value, and the audit log names the secret", async () => {
  await set(VALUE);
  await set(`${VALUE}\0`, "BROKEN");
  await raw(Buffer.from(VALUE));
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(world.db);
  for (const { name } of tables) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`.execute(
      world.db,
    );
    expect(
      rows.filter(({ row }) => row.includes(VALUE)),
      name,
    ).toEqual([]);
    expect(
      rows.filter(({ row }) => row.includes(Buffer.from(VALUE).toString("hex"))),
      name,
    ).toEqual([]);
  }
  expect(JSON.stringify(world.log)).not.toContain(VALUE);
  const audit = await world.call<{ items: { resource: { id: string } }[] }>(
    "GET",
    "/v1/audit?action=secret.set",
  );
  expect(JSON.stringify(audit.body)).not.toContain(VALUE);
  expect(audit.body.items[0]?.resource.id).toBe("API_KEY");
});

test("without the root key nothing is set or opened, and the rest is served", async () => {
  await set(VALUE);
  const { rootKeyFile } = world;
  const whole = formatRootKeys(await world.context.sealing.rootKeys());
  const replace = (text: string | undefined): void => {
    rmSync(rootKeyFile, { force: true });
    if (text !== undefined) writeFileSync(rootKeyFile, text, { mode: 0o400 });
  };
  try {
    for (const text of [undefined, formatRootKeys([newRootKey()])]) {
      replace(text);
      expect(await set("x")).toMatchObject({ status: 503, body: { code: "secrets_unavailable" } });
      await expect(values()).rejects.toMatchObject({ code: "secrets_unavailable" });
      expect((await world.call("GET", "/v1/secrets")).status).toBe(200);
    }
  } finally {
    replace(whole);
  }
  expect(await values()).toEqual({ API_KEY: VALUE });
});

test("an organization that is deleted takes its secrets along", async () => {
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  expect((await set(VALUE, "API_KEY", token)).status).toBe(200);
  expect((await world.call("DELETE", path)).status).toBe(204);
  expect(await findSecrets(world.db, { orgId: id, scope: "organization" })).toEqual([]);
});
