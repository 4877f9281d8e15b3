// Every operation against everybody who may not call it: what they are told, and that nothing has changed. The operations are all that
// the rooms declare, so a new one cannot be forgotten.

import { sql } from "kysely";
import { afterEach, beforeAll, expect, test } from "vitest";
import { hasRole, roles, type Role } from "@skerry/contract/organizations/roles";
import { lowestRole, scopes, type Scope } from "@skerry/contract/organizations/scopes";
import type { Access } from "../src/api/operation.ts";
import { answersStream } from "../src/api/register-routes.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import type { Call } from "./calls/call.ts";
import { calls } from "./calls/calls.ts";
import { done, Members } from "./support/members.ts";
import { sampledOperations } from "./support/sampled-operations.ts";
import { type Answer, useWorld } from "./support/world.ts";

type Body = Record<string, unknown>;

const world = useWorld();
let members: Members;
/** Secrets of tokens that nothing can be done with any more. */
const dead = { wrong: `sk_${"A".repeat(43)}`, expired: "", revoked: "" };
/** A token of a member of each role, with every scope. */
const secretOf = new Map<Role, string>();
/** An owner of another organization. */
let stranger: Stranger;

interface Stranger {
  readonly secret: string;
  readonly organization: string;
}

/** A member's token after its first use, which makes the invitation a token that lasts. */
async function usedToken(role: Role, at?: string): Promise<string> {
  const { secret } = await members.newMember(role, at);
  await members.me(secret);
  return secret;
}

async function newStranger(): Promise<Stranger> {
  const { id, path } = await members.newOrganization();
  return { secret: await usedToken("owner", path), organization: id };
}

beforeAll(async () => {
  members = new Members(world);
  for (const role of roles) secretOf.set(role, await usedToken(role));
  const expired = await done(201, members.mint(world.token, { expires_in: "1h" }));
  await sql`update api_tokens set expires_at = now() - interval '1 second' where id = ${expired.id}`.execute(
    world.db,
  );
  dead.expired = expired.token;
  const revoked = await done(201, members.mint(world.token));
  await done(204, world.call("DELETE", `/v1/auth/tokens/${revoked.id}`));
  dead.revoked = revoked.token;
  stranger = await newStranger();
  // The row of the root key belongs to no organization, and comes with the first secret that is sealed.
  await send(await calls.setRegistryCredential(world), world.token);
});
afterEach(async () => {
  // Room for those of the next test.
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  await sql`delete from builds`.execute(world.db);
  await sql`delete from apps`.execute(world.db);
  world.host.vms.clear();
});

const guarded = [...sampledOperations("isolation")].flatMap((id): [OperationId, Access][] => {
  const { access } = operations[id];
  return access === "public" ? [] : [[id, access]];
});

function send(call: Call, token: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
  return world.call(call.method, call.path, { body: call.body, token, headers });
}

/**
 * All that the database holds, as one text per table, but for what a refusal may leave: when a token was last used, what was
 * forbidden, and how much of a limit is taken; and for what time alone changes.
 */
async function content(): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'
      and tablename not in ('audit_events', 'hosts') and tablename not like 'rate_%'
    order by 1`.execute(world.db);
  expect(tables.length).toBeGreaterThan(5);
  const texts: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string | null }>`
      select string_agg(r::text, chr(10) order by r::text) as text
      from (select to_jsonb(t) - 'last_used_at' as r from ${sql.table(name)} t) as plain`.execute(world.db);
    texts[name] = rows[0]?.text ?? "";
  }
  return texts;
}

/** Refused with this answer, and neither the database nor a host knows of it. */
async function expectRefusal(
  asked: () => Promise<Answer<Body>>,
  [status, codes]: [number, readonly string[]],
) {
  const before = await content();
  const callsBefore = world.host.calls.length;
  const answer = await asked();
  expect([answer.status, codes.includes(String(answer.body["code"]))], answer.text).toEqual([status, true]);
  expect(await content()).toEqual(before);
  expect(world.host.calls.slice(callsBefore)).toEqual([]);
}

test.each(guarded)(
  "%s is refused without a token, and with a wrong, an expired and a revoked one",
  async (name) => {
    const call = await calls[name](world);
    for (const token of ["", dead.wrong, dead.expired, dead.revoked]) {
      await expectRefusal(() => send(call, token), [401, ["unauthorized"]]);
      if (call.method === "GET" && !answersStream(operations[name])) {
        const head = await fetch(world.url + call.path, { method: "HEAD", headers: { "x-api-key": token } });
        expect(head.status).toBe(401);
      }
    }
  },
);

test.each(guarded.filter(([, { scope }]) => scope !== null))(
  "%s is refused to an owner's token with every scope but the one that it needs",
  async (name, { scope, orScope }) => {
    const needed: readonly (Scope | null | undefined)[] = [scope, orScope, "*"];
    const others = scopes.filter((other) => !needed.includes(other));
    const { token } = await done(201, members.mint(world.token, { scopes: others }));
    const call = await calls[name](world);
    await expectRefusal(() => send(call, token), [403, ["forbidden"]]);
  },
);

/** Their calls are about an organization that only the caller is a member of; organization-deletion.test.ts has the roles. */
const ofNewOrganizations = new Set<OperationId>(["deleteOrganization"]);

const tooLow = guarded
  .filter(([name]) => !ofNewOrganizations.has(name))
  .flatMap(([name, { role }]) =>
    roles.filter((lower) => !hasRole(lower, role)).map((lower): [OperationId, Role] => [name, lower]),
  );

test.each(tooLow)("%s is refused to a %s, whatever the token may", async (name, role) => {
  const call = await calls[name](world);
  await expectRefusal(() => send(call, secretOf.get(role) ?? ""), [403, ["forbidden"]]);
});

/** What is about nobody's resource: a stranger gets an answer, about the stranger's own organization. */
const aboutTheCaller = new Set<OperationId>([
  "getStatus",
  "listAudit",
  "exportAudit",
  "getMe",
  "listOrganizations",
  "getLimits",
  "getUsage",
  "listSizes",
  "listTemplates",
  "getTemplate",
  "createTemplate",
  "listBuilds",
  "listRegistryCredentials",
  "setRegistryCredential",
  "listSecrets",
  "setSecret",
  "listCache",
  "clearCache",
  "createToken",
  "createLoginCode",
  "endSession",
  "listTokens",
  "createSandbox",
  "listSandboxes",
  "listSnapshots",
  "listKeptExecutions",
  "followEvents",
  "createMachine",
  "listMachines",
  "createApp",
  "listApps",
]);

test.each(guarded)(
  "%s tells and changes nothing of ours for an owner of another organization",
  async (name, { scope }) => {
    const call = await calls[name](world);
    // With the stranger's own token, and with our organization named.
    const named = { "x-org-id": world.orgId };
    await expectRefusal(() => send(call, stranger.secret, named), [404, ["organization_not_found"]]);
    if (!aboutTheCaller.has(name)) {
      const ofThePlatform = scope !== null && !(await members.me(stranger.secret)).scopes.includes(scope);
      const [status, codes] = ofThePlatform
        ? [403, ["forbidden"]]
        : [
            404,
            [
              "sandbox_not_found",
              "snapshot_not_found",
              "machine_not_found",
              "template_not_found",
              "build_not_found",
              "execution_not_found",
              "app_not_found",
              "registry_credential_not_found",
              "secret_not_found",
              "token_not_found",
              "organization_not_found",
            ],
          ];
      for (const asked of await callsByIdAndName(call))
        await expectRefusal(() => send(asked, stranger.secret), [Number(status), codes as string[]]);
      return;
    }
    // One who has asked for nothing of ours yet: what was forbidden is in the log of who asked, with the ids that were asked for.
    const { secret, organization } = await newStranger();
    const ours = await content();
    const answer = await send(call, secret);
    expect(answer.status, answer.text).toBeLessThan(300);
    expect(answer.text).not.toContain(world.orgId);
    // The operator is in the stranger's organization too, and in its log.
    const operator = await members.me(world.token);
    const { rows } = await sql<{ id: string }>`
      select id from sandboxes where org_id = ${world.orgId}
      union select id from machines where org_id = ${world.orgId}
      union select id from api_tokens where org_id = ${world.orgId} and id <> ${operator.token_id}
      union select user_id from memberships where org_id = ${world.orgId} and user_id <> ${operator.user_id}`.execute(
      world.db,
    );
    expect(rows.length).toBeGreaterThan(5);
    for (const { id } of rows) expect(answer.text).not.toContain(id);
    const after = await content();
    for (const [table, text] of Object.entries(after)) {
      const added = text.split("\n").filter((line) => !(ours[table] ?? "").split("\n").includes(line));
      for (const line of added) expect(line).toContain(organization);
    }
  },
);

/** The call, and where it is about a sandbox or a machine the same with the name in its path. */
async function callsByIdAndName(call: Call): Promise<Call[]> {
  const [id] = /(?:sbx|mch)_[0-9a-z]{26}/.exec(call.path) ?? [];
  if (id === undefined) return [call];
  const { rows } = await sql<{ name: string }>`
    select name from sandboxes where id = ${id} union all select name from machines where id = ${id}`.execute(
    world.db,
  );
  const name = rows[0]?.name;
  if (name === undefined) throw new Error(`${id} has no name`);
  return [call, { ...call, path: call.path.replace(id, encodeURIComponent(name)) }];
}

const right = guarded
  .filter(([name]) => !ofNewOrganizations.has(name))
  .flatMap(([name, { role, scope }]) =>
    roles
      .filter((high) => hasRole(high, role))
      .map((high): [OperationId, Role, Access["scope"]] => [name, high, scope]),
  );

/** What the call of the table, which makes a port public, needs beside the scope of its operation. */
const opening: Partial<Record<OperationId, string>> = {
  setSandboxPortAccess: "sandboxes:execute",
  setMachinePortAccess: "machines:execute",
};

function scopesFor(name: OperationId, scope: string): string[] {
  const more = opening[name];
  return more === undefined ? [scope] : [scope, more];
}

test.each(right)(
  "%s works for a %s whose token has no scope but what it needs",
  async (name, role, scope) => {
    const call = await calls[name](world);
    let token = secretOf.get(role) ?? "";
    // A viewer mints nothing; its invitation has every scope.
    if (scope !== null && hasRole(role, "member")) {
      token = (await done(201, members.mint(token, { scopes: scopesFor(name, scope) }))).token;
    }
    if (name === "revokeToken" && !hasRole(role, "admin")) {
      // Those below an admin end their own tokens only.
      const own = await members.me(token);
      expect((await send({ ...call, path: `/v1/auth/tokens/${own.token_id}` }, token)).status).toBe(204);
      if (role === "viewer") secretOf.set(role, (await members.newMember(role)).secret);
      return;
    }
    const owners = name === "revokeToken" && role === "admin";
    const [byId = call, byName = call] = await callsByIdAndName(call);
    const answer = await send(role === "owner" ? byId : byName, token);
    if (owners) expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
    else expectSuccess(name, answer);
  },
);

/** A plain request to a WebSocket gets no further than the question whether its caller may; `exec.test.ts` has the others. */
function expectSuccess(name: OperationId, answer: Answer<Body>): void {
  if (operations[name].answers[101] !== undefined) expect(answer.body["code"]).toBe("upgrade_required");
  else expect(answer.status, answer.text).toBeLessThan(300);
}

test("whoever may use a scope at all is the lowest role that an operation with it asks for", () => {
  for (const [name, { access }] of Object.entries(operations)) {
    if (access === "public" || access.scope === null) continue;
    expect(hasRole(access.role, lowestRole[access.scope]), name).toBe(true);
  }
});
