// Credentials of registries: who sets and sees them, and that no other place than their sealed column has a password.

import { rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { formatRootKeys, newRootKey } from "@skerry/contract/sealing/root-key-file";
import type { RegistryCredentialList } from "@skerry/contract/registries/registry-credential";
import { openRegistryLogins } from "../src/registries/registries.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const PATH = "/v1/registry-credentials/registry.example:5000";
const HOST = "registry.example:5000";
const PASSWORD = "correct-horse-battery-staple";

const set = (password = PASSWORD, path = PATH, token = world.token) =>
  world.call("PUT", path, { token, body: { username: "builder", password } });
const logins = (orgId = world.orgId, host = HOST) => openRegistryLogins(world.context, orgId, [host]);

afterEach(async () => {
  await sql`delete from registry_credentials`.execute(world.db);
});

test("credentials are set, listed without their password, replaced and deleted", async () => {
  const shown = {
    host: HOST,
    username: "builder",
    set_by: expect.stringMatching(/^usr_/) as string,
    set_at: expect.any(String) as string,
  };
  const answer = await set();
  expect([answer.status, answer.body]).toEqual([200, shown]);
  const list = await world.call<RegistryCredentialList>("GET", "/v1/registry-credentials");
  expect(list.body).toEqual({ items: [shown] });
  expect(await logins()).toEqual([{ host: HOST, username: "builder", password: PASSWORD }]);
  await set("another");
  expect(await logins()).toMatchObject([{ password: "another" }]);
  expect((await world.call("DELETE", PATH)).status).toBe(204);
  expect(await logins()).toEqual([]);
  expect(await world.call("DELETE", PATH)).toMatchObject({
    status: 404,
    body: { code: "registry_credential_not_found" },
  });
});

test.each(["Registry.example", "registry.example/path", "registry.example:", "-x", "a".repeat(261)])(
  "what is no registry is refused: %s",
  async (host) => {
    const path = `/v1/registry-credentials/${encodeURIComponent(host)}`;
    expect((await set(PASSWORD, path)).status).toBeGreaterThanOrEqual(400);
    expect(await logins(world.orgId, host)).toEqual([]);
  },
);

test.each([
  { username: "a:b", password: "x" },
  { username: "", password: "x" },
  { username: "a", password: "" },
  { username: "a", password: "x\n" },
  { username: "a" },
])("what no registry takes is refused: %j", async (body) => {
  expect((await world.call("PUT", PATH, { body })).status).toBe(400);
});

test("another organization neither sees nor uses them, nor opens them when the row is made its own", async () => {
  await set();
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  expect((await world.call("GET", "/v1/registry-credentials", { token })).body).toEqual({ items: [] });
  expect((await world.call("DELETE", PATH, { token })).status).toBe(404);
  expect(await logins(id)).toEqual([]);
  await set("theirs", PATH, token);
  await sql`
    update registry_credentials set sealed_password =
      (select sealed_password from registry_credentials where org_id = ${world.orgId})
    where org_id = ${id}`.execute(world.db);
  await expect(logins(id)).rejects.toMatchObject({ code: "secret_damaged" });
  expect(await logins()).toMatchObject([{ password: PASSWORD }]);
});

test("a member who is no admin lists them and changes nothing", async () => {
  const token = (await new Members(world).newMember("member")).secret;
  expect(await set(PASSWORD, PATH, token)).toMatchObject({ status: 403 });
  expect((await world.call("GET", "/v1/registry-credentials", { token })).status).toBe(200);
});

test("a password of one registry does not open as that of another, nor an older one as the newer", async () => {
  await set();
  await set("other", "/v1/registry-credentials/other.example");
  await sql`
    update registry_credentials a set sealed_password = b.sealed_password
    from registry_credentials b where a.host <> b.host`.execute(world.db);
  await expect(logins()).rejects.toMatchObject({ code: "secret_damaged" });
  await set();
  await sql`update registry_credentials set version = version + 1`.execute(world.db);
  await expect(logins()).rejects.toMatchObject({ code: "secret_damaged" });
});

test("no table, no log line and no audit event has the password, and the audit log names the registry", async () => {
  await set();
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(world.db);
  for (const { name } of rows) {
    const text = await sql<{ all: string | null }>`
      select string_agg(one::text, '') as all from ${sql.table(name)} one`.execute(world.db);
    const all = text.rows[0]?.all ?? "";
    for (const form of [
      PASSWORD,
      Buffer.from(PASSWORD).toString("hex"),
      Buffer.from(PASSWORD).toString("base64"),
    ])
      expect(`${name} ${all.includes(form)}`).toBe(`${name} false`);
  }
  expect(JSON.stringify(world.log)).not.toContain(PASSWORD);
  const audit = await world.call("GET", "/v1/audit?action=registry.set&limit=1");
  expect(audit.body["items"]).toMatchObject([{ resource: { id: HOST } }]);
});

test("without the root key secrets are refused with a typed error, and the rest is served", async () => {
  await set();
  const { rootKeyFile } = world;
  const whole = formatRootKeys(await world.context.sealing.rootKeys());
  const replace = (text: string | undefined): void => {
    rmSync(rootKeyFile, { force: true });
    if (text !== undefined) writeFileSync(rootKeyFile, text, { mode: 0o400 });
  };
  try {
    for (const text of [undefined, formatRootKeys([newRootKey()]), whole.slice(0, -20), ""]) {
      replace(text);
      expect(await set("new")).toMatchObject({ status: 503, body: { code: "secrets_unavailable" } });
      await expect(logins()).rejects.toMatchObject({ code: "secrets_unavailable" });
      expect(await world.context.sealing.fault(world.db)).toMatchObject({ code: "secrets_unavailable" });
      expect((await world.call("GET", "/v1/registry-credentials")).status).toBe(200);
    }
  } finally {
    replace(whole);
  }
  expect(await world.context.sealing.fault(world.db)).toBeUndefined();
  expect(await logins()).toMatchObject([{ password: PASSWORD }]);
});

test("two that set the same credentials at once leave one that opens", async () => {
  const passwords = ["one", "two", "three", "four"];
  const answers = await Promise.all(passwords.map((password) => set(password)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [login] = await logins();
  expect(passwords).toContain(login?.password);
});

test("an organization that is deleted takes its credentials and its key along", async () => {
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  expect((await set(PASSWORD, PATH, token)).status).toBe(200);
  expect((await world.call("DELETE", path)).status).toBe(204);
  const { rows } = await sql`
    select from registry_credentials where org_id = ${id} union all select from data_keys where owner = ${id}`.execute(
    world.db,
  );
  expect(rows).toEqual([]);
});
