// The cluster's authority is changed for another one while its hosts go on. Hosts are fake, the connections to them are real mutual TLS.

import { X509Certificate } from "node:crypto";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Authority as AuthorityReport } from "@skerry/contract/joining/authority";
import { certificatesIn, type HostCertificate } from "@skerry/contract/joining/host-certificate";
import type { Host } from "@skerry/contract/hosts/host";
import type { Context } from "../src/context.ts";
import { HostDirectory, securedAddress } from "../src/host-client/host-directory.ts";
import { CertificateAuthority } from "../src/joining/certificate-authority.ts";
import { hostCertificateRenewal } from "../src/joining/host-certificate-renewal.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { openReplica } from "./support/replica.ts";
import { eventually, World } from "./support/world.ts";

const never = new AbortController().signal;

let world: World;
const directories: HostDirectory[] = [];
beforeEach(async () => {
  world = await World.open();
});
afterEach(async () => {
  await Promise.all(directories.splice(0).map((directory) => directory.close()));
  await world[Symbol.asyncDispose]();
});

interface Joined {
  readonly host: JoiningHost;
  readonly id: string;
  readonly address: string;
  /** What the host has now. */
  identity(): HostCertificate;
}

/** A host that lets nobody in without a certificate of an authority that it trusts. */
async function joined(): Promise<Joined> {
  const host = await JoiningHost.open(world, { requestCert: true, rejectUnauthorized: true });
  const answer = await host.ask(await newJoinToken(world));
  expect(answer.status, answer.text).toBe(200);
  host.serve(answer.body);
  await online(answer.body.host_id);
  const { host_id: id } = answer.body;
  return {
    ...{ host, id, address: securedAddress(id, host.address) },
    identity: () => host.brought.at(-1) ?? answer.body,
  };
}

async function online(id: string, status = "online"): Promise<void> {
  await sql`update hosts set status = ${status} where id = ${id}`.execute(world.db);
}

/** A replica that has just looked at the authorities, and has no connection yet. */
function replica(): Context {
  const authority = new CertificateAuthority(world.db, world.context.sealing);
  const hosts = new HostDirectory(() => authority.credentials());
  directories.push(hosts);
  return { ...world.context, authority, hosts };
}

const reaches = (context: Context, { address }: Joined) =>
  context.hosts
    .client(address)
    .listVms()
    .then(
      () => true,
      () => false,
    );

/** One activation, when every replica knows of what the one before has done. */
async function turn(): Promise<void> {
  await sql`update authority set status_since = status_since - interval '1 minute'`.execute(world.db);
  await hostCertificateRenewal(replica(), 60_000).activate(never);
}

async function report(): Promise<AuthorityReport> {
  return (await world.call<AuthorityReport>("GET", "/v1/authority")).body;
}

async function rotate(body: object = {}): Promise<AuthorityReport> {
  const answer = await world.call<AuthorityReport>("POST", "/v1/authority/rotate", { body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

/** Whether the one would take a connection from the other. */
function trusts({ authority }: HostCertificate, { certificate }: HostCertificate): boolean {
  const other = new X509Certificate(certificate);
  return certificatesIn(authority).some((pem) => other.verify(new X509Certificate(pem).publicKey));
}

test("control and its hosts trust each other in every step of a change, and at its end the authority before is trusted by none", async () => {
  const hosts = [await joined(), await joined()] as const;
  const [one, two] = hosts;
  const before = await report();
  expect(before).toMatchObject({ rotation: "none", waits_for: [] });
  const old = replica();
  expect(await reaches(old, one)).toBe(true);
  expect(await rotate()).toMatchObject({ rotation: "announcing", fingerprint: before.fingerprint });
  const steps: string[] = [];
  for (let turns = 0; turns < 20 && (await report()).rotation !== "none"; turns += 1) {
    // One host a turn, so that the others lag behind.
    const away = hosts[turns % 2];
    if (away !== undefined) await online(away.id, "offline");
    await turn();
    if (away !== undefined) await online(away.id);
    steps.push((await report()).rotation);
    const now = replica();
    for (const host of hosts) expect([steps.at(-1), await reaches(now, host)]).toEqual([steps.at(-1), true]);
    expect([trusts(one.identity(), two.identity()), trusts(two.identity(), one.identity())]).toEqual([
      true,
      true,
    ]);
  }
  expect([...new Set(steps)]).toEqual(["announcing", "renewing", "withdrawing", "none"]);
  const after = await report();
  expect(after.fingerprint).not.toBe(before.fingerprint);
  for (const host of hosts) expect(certificatesIn(host.identity().authority)).toHaveLength(1);
  const { rows } = await sql`select status from authority`.execute(world.db);
  expect(rows).toEqual([{ status: "current" }]);
  // A replica that knew the one before looks again, and one that has its key gets nowhere.
  await old.hosts.forget(one.address);
  await eventually(() => reaches(old, one), "a replica that was there throughout reaches it");
  const { body } = await world.call<{ items: { action: string; actor: { service: string | null } }[] }>(
    "GET",
    "/v1/audit",
  );
  const acts = body.items.filter(({ action }) => action.startsWith("authority."));
  expect(acts.map(({ action, actor }) => `${actor.service} ${action}`)).toEqual([
    "host-certificates authority.remove",
    "host-certificates authority.sign",
    "null authority.rotate",
  ]);
});

test("a key of the authority before opens nothing once the change is done", async () => {
  const host = await joined();
  const stolen = await new CertificateAuthority(world.db, world.context.sealing).credentials();
  const thief = new HostDirectory(async () => stolen);
  directories.push(thief);
  await rotate();
  while ((await report()).rotation !== "none") await turn();
  // Whoever has that key may certify themselves anew, and trust whom they like.
  const { ca } = await new CertificateAuthority(world.db, world.context.sealing).credentials();
  const certain = new HostDirectory(async () => ({ ...stolen, ca }));
  directories.push(certain);
  await expect(thief.client(host.address).listVms()).rejects.toThrow();
  await expect(certain.client(host.address).listVms()).rejects.toThrow();
  expect(await reaches(replica(), host)).toBe(true);
});

test("asked for twice, on two replicas at once, it is one change", async () => {
  await joined();
  await using other = await openReplica(world);
  const asked = await Promise.all(
    [world.url, other.url, world.url].map((url) =>
      world.call<AuthorityReport>("POST", "/v1/authority/rotate", { url }),
    ),
  );
  expect(asked.map(({ status, body }) => [status, body.rotation])).toEqual(
    asked.map(() => [200, "announcing"]),
  );
  await turn();
  expect(await rotate()).toMatchObject({ rotation: "renewing" });
  const { rows } = await sql<{ status: string }>`select status from authority order by status`.execute(
    world.db,
  );
  expect(rows.map(({ status }) => status)).toEqual(["current", "previous"]);
});

test("a host that is away is waited for; left behind, it says that it has to join again, and is the host that it was", async () => {
  const [here, away] = [await joined(), await joined()];
  await online(away.id, "offline");
  await rotate();
  for (let turns = 0; turns < 3; turns += 1) await turn();
  const name = away.host.name;
  expect(await report()).toMatchObject({
    rotation: "announcing",
    waits_for: [{ host_id: away.id, name, status: "offline" }],
  });
  const seen = async () => (await world.call<Host>("GET", `/v1/hosts/${away.id}`)).body;
  expect((await seen()).waits_for).toBeNull();
  expect(await rotate({ leave_offline: true })).toMatchObject({ waits_for: [] });
  while ((await report()).rotation !== "none") await turn();
  expect((await seen()).waits_for).toContain("have its machine join again");
  expect([await reaches(replica(), here), await reaches(replica(), away)]).toEqual([true, false]);
  const again = await away.host.ask(await newJoinToken(world));
  expect(again.body.host_id).toBe(away.id);
  away.host.serve(again.body);
  expect(await reaches(replica(), away)).toBe(true);
  expect((await seen()).waits_for).toBeNull();
});

test("a host in maintenance that answers gets its certificates, and one that is off can be left behind", async () => {
  const [well, off] = [await joined(), await joined()];
  for (const { id } of [well, off]) await online(id, "maintenance");
  await sql`update hosts set silent_since = now(), silent_until = now() where id = ${off.id}`.execute(
    world.db,
  );
  await rotate();
  for (let turns = 0; turns < 2; turns += 1) await turn();
  expect((await report()).waits_for.map(({ host_id }) => host_id)).toEqual([off.id]);
  await rotate({ leave_offline: true });
  while ((await report()).rotation !== "none") await turn();
  expect([await reaches(replica(), well), await reaches(replica(), off)]).toEqual([true, false]);
});

test("a host whose certificate has ended is not waited for", async () => {
  const away = await joined();
  await online(away.id, "offline");
  await sql`update hosts set certificate_expires_at = now() - interval '1 s' where id = ${away.id}`.execute(
    world.db,
  );
  await rotate();
  while ((await report()).rotation !== "none") await turn();
  expect((await world.call<Host>("GET", `/v1/hosts/${away.id}`)).body.waits_for).toContain("join again");
});

test("a certificate that was brought but not written down, because control died, is brought once more in each step", async () => {
  const host = await joined();
  await rotate();
  while ((await report()).rotation !== "none") {
    const row = await sql<{ key: Buffer; by: number; trusts: number[] }>`
      select key_sha256 as key, certified_by as by, trusts from hosts where id = ${host.id}`.execute(
      world.db,
    );
    const before = host.host.brought.length;
    await hostCertificateRenewal(replica(), 60_000).activate(never);
    expect(host.host.brought).toHaveLength(before + 1);
    for (const { key, by, trusts: those } of row.rows)
      await sql`update hosts set key_sha256 = ${key}, certified_by = ${by}, trusts = ${those} where id = ${host.id}`.execute(
        world.db,
      );
    expect(await reaches(replica(), host)).toBe(true);
    await turn();
    expect(host.host.brought).toHaveLength(before + 2);
    expect(await reaches(replica(), host)).toBe(true);
  }
});

test("no step is taken before every replica can know of the one before", async () => {
  await joined();
  await rotate();
  for (let turns = 0; turns < 3; turns += 1) await hostCertificateRenewal(replica(), 60_000).activate(never);
  expect(await report()).toMatchObject({ rotation: "announcing", waits_for: [] });
});

test("a machine that joins meanwhile is told of the authority of its token alone, and is waited for; a token of the one before is refused", async () => {
  await rotate();
  const token = await newJoinToken(world);
  const late = await newJoinToken(world);
  const host = await JoiningHost.open(world, { requestCert: true, rejectUnauthorized: true });
  const { body } = await host.ask(token);
  expect(certificatesIn(body.authority)).toHaveLength(1);
  host.serve(body);
  await online(body.host_id, "offline");
  await turn();
  expect((await report()).waits_for.map(({ host_id }) => host_id)).toEqual([body.host_id]);
  await online(body.host_id);
  while ((await report()).rotation !== "renewing") await turn();
  const refused = await (await JoiningHost.open(world)).ask(late);
  expect([refused.status, refused.body.code]).toEqual([401, "unauthorized"]);
  expect(refused.text).toContain("authority was changed");
  const next = await joined();
  expect(await reaches(replica(), next)).toBe(true);
});
