// The key of the cluster's authority in the database: sealed, changed with its root key, and left alone where the root key is missing.

import { rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatRootKeys, newRootKey, type RootKey } from "@skerry/contract/sealing/root-key-file";
import { wayBackFault } from "../src/db/migrations.ts";
import { whyCannotServe, type AppliedMigration } from "../src/db/schema-versions.ts";
import {
  authorityKeyState,
  insistOnSealedAuthority,
  sealAuthorityKeys,
} from "../src/joining/authority-key.ts";
import { CertificateAuthority } from "../src/joining/certificate-authority.ts";
import { rotateAuthority } from "../src/joining/rotate-authority.ts";
import { makeAuthority } from "../src/joining/x509.ts";
import { checkRootKeys, retireRootKeys, sealUnder } from "../src/sealing/root-key-commands.ts";
import { World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const replica = () => new CertificateAuthority(world.db, world.context.sealing);

function write(keys: readonly RootKey[]): void {
  rmSync(world.rootKeyFile, { force: true });
  writeFileSync(world.rootKeyFile, formatRootKeys(keys), { mode: 0o440 });
}

async function kept(): Promise<readonly { private_key: string | null; sealed_key: Buffer | null }[]> {
  const { rows } = await sql<{ private_key: string | null; sealed_key: Buffer | null }>`
    select private_key, sealed_key from authority order by number`.execute(world.db);
  return rows;
}

/** As a version before this one has left it: with a plain key, in a database to which that version may be gone back. */
async function fromOlderVersion(): Promise<void> {
  const { certificate, privateKey } = makeAuthority();
  await sql`insert into authority (status, certificate, private_key) values ('current', ${certificate}, ${privateKey})`.execute(
    world.db,
  );
  await sql`update schema_migrations set serves_with = 16 where number > 16`.execute(world.db);
}

async function whyOldCannotServe(): Promise<string | undefined> {
  const { rows } = await sql<AppliedMigration>`select number, serves_with from schema_migrations`.execute(
    world.db,
  );
  const known = Array.from({ length: 16 }, (_, index) => index + 1);
  return whyCannotServe(rows, { known, newest: 16 });
}

test("the authority's key is sealed from the beginning, once for all replicas, and versions that cannot read it do not start", async () => {
  const all = await Promise.all([replica(), replica(), replica()].map((one) => one.credentials()));
  const rows = await kept();
  expect(rows).toEqual([{ private_key: null, sealed_key: expect.any(Buffer) }]);
  expect(new Set(all.map(({ ca }) => ca)).size).toBe(1);
  expect(await authorityKeyState(world.db)).toBe("sealed");
  expect(await whyOldCannotServe()).toContain("too old to serve beside");
  // Nothing of it is anywhere else in the row.
  const { rows: texts } = await sql<{ text: string }>`select authority::text as text from authority`.execute(
    world.db,
  );
  expect(texts[0]?.text).not.toContain("PRIVATE");
});

test("a root key by which the authority's key is sealed is not retired, and after a change the authority signs on", async () => {
  const { db, context } = world;
  const { ca } = await replica().credentials();
  const before = await context.sealing.rootKeys();
  const next = newRootKey();
  write([next, ...before]);
  await sql`insert into root_keys (id) values (${next.id})`.execute(db);
  expect((await retireRootKeys(db)).retired).toEqual([]);
  await sealUnder(db, context.sealing, next.id);
  expect((await retireRootKeys(db)).retired).toEqual(before.map(({ id }) => id));
  write([next]);
  expect((await checkRootKeys(db, context.sealing)).keys).toEqual([
    { id: next.id, in_file: true, seals: true, data_keys: 1 },
  ]);
  // As after a restart.
  expect((await replica().credentials()).ca).toBe(ca);
});

test("without its root key the authority signs nothing, another one is not made, and it goes on with the key", async () => {
  const { db, context } = world;
  const running = replica();
  const before = await running.credentials();
  const keys = await context.sealing.rootKeys();
  for (const file of [undefined, [newRootKey()]]) {
    if (file === undefined) rmSync(world.rootKeyFile);
    else write(file);
    await expect(replica().credentials()).rejects.toMatchObject({ code: "secrets_unavailable" });
    await expect(rotateAuthority(context, {})).rejects.toMatchObject({ code: "secrets_unavailable" });
    // A replica that runs keeps what it has.
    expect(await running.credentials()).toBe(before);
    expect(await kept()).toHaveLength(1);
  }
  write(keys);
  expect((await replica().credentials()).ca).toBe(before.ca);
  await sql`update authority set sealed_key = set_byte(sealed_key, 40, (get_byte(sealed_key, 40) + 1) % 256)`.execute(
    db,
  );
  await expect(replica().credentials()).rejects.toMatchObject({ code: "secret_damaged" });
});

test("no authority is made while the root key is missing", async () => {
  rmSync(world.rootKeyFile);
  await expect(replica().credentials()).rejects.toMatchObject({ code: "secrets_unavailable" });
  expect(await kept()).toEqual([]);
});

test("a key that an older version reads stays as it is, also for the next authority, until the operator says that none serves", async () => {
  const { db, context } = world;
  await fromOlderVersion();
  const { ca } = await replica().credentials();
  expect(await sealAuthorityKeys(db, context.sealing)).toBe(0);
  await rotateAuthority(context, {});
  expect((await kept()).map(({ sealed_key }) => sealed_key)).toEqual([null, null]);
  expect(await authorityKeyState(db)).toBe("plain");
  expect(await whyOldCannotServe()).toBeUndefined();
  expect(wayBackFault(Array.from({ length: 16 }, (_, index) => index + 1))).toBeUndefined();
  expect(await insistOnSealedAuthority(db, context.sealing)).toBe(2);
  expect((await kept()).map(({ private_key }) => private_key)).toEqual([null, null]);
  expect(await whyOldCannotServe()).toContain("too old to serve beside");
  expect((await replica().credentials()).ca).toContain(ca);
  expect(await sealAuthorityKeys(db, context.sealing)).toBe(0);
});

test("two replicas that start at the same time seal it once, and a later release does so by itself", async () => {
  const { db, context } = world;
  await fromOlderVersion();
  // What the next release's migrations say.
  await sql`insert into schema_migrations (number, name, serves_with) values (9999, 'later', 48)`.execute(db);
  const sealed = await Promise.all([1, 2, 3].map(() => sealAuthorityKeys(db, context.sealing)));
  expect(sealed.toSorted((one, other) => one - other)).toEqual([0, 0, 1]);
  await replica().credentials();
});
