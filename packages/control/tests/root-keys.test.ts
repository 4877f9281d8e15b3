// The change of root keys: what was sealed opens all the time, and a key that is needed is never given up.

import { rmSync, writeFileSync } from "node:fs";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { formatRootKeys, newRootKey, type RootKey } from "@skerry/contract/sealing/root-key-file";
import { checkRootKeys, retireRootKeys, sealUnder } from "../src/sealing/root-key-commands.ts";
import type { SealedFor } from "../src/sealing/sealed-value.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const about = (owner: string): SealedFor => ({ owner, scope: "test", name: "one", version: 1 });

function write(keys: readonly RootKey[]): void {
  rmSync(world.rootKeyFile, { force: true });
  writeFileSync(world.rootKeyFile, formatRootKeys(keys), { mode: 0o400 });
}

test("a root key is changed while secrets open, the one before is retired, and then it opens nothing", async () => {
  const { db, context } = world;
  const { sealing } = context;
  const [first] = await sealing.rootKeys();
  if (first === undefined) throw new Error("there is no key");
  const sealed = new Map<string, Buffer>();
  for (const owner of ["org_a", "org_b"])
    sealed.set(owner, await sealing.seal(db, about(owner), `of ${owner}`));
  const open = (owner: string) => sealing.open(db, about(owner), sealed.get(owner) ?? Buffer.of());
  const second = newRootKey();
  // Not in the file yet.
  await expect(sealUnder(db, sealing, second.id)).rejects.toMatchObject({ code: "secrets_unavailable" });
  write([second, first]);
  expect(await open("org_a")).toBe("of org_a");
  expect(await sealUnder(db, sealing, second.id)).toEqual({ id: second.id, data_keys: 2 });
  // Once more, as after a change that broke off.
  expect(await sealUnder(db, sealing, second.id)).toEqual({ id: second.id, data_keys: 2 });
  expect(await open("org_b")).toBe("of org_b");
  expect(await checkRootKeys(db, sealing)).toEqual({
    keys: [
      { id: second.id, in_file: true, seals: true, data_keys: 2 },
      { id: first.id, in_file: true, seals: false, data_keys: 0 },
    ],
    damaged: [],
  });
  expect(await retireRootKeys(db)).toEqual({ retired: [first.id], needed: [second.id] });
  write([second]);
  expect(await open("org_a")).toBe("of org_a");
  // A replica that has the file of before seals nothing under the retired key.
  write([first]);
  await expect(sealing.seal(db, about("org_c"), "x")).rejects.toMatchObject({ code: "secrets_unavailable" });
  await expect(open("org_a")).rejects.toMatchObject({ code: "secrets_unavailable" });
  expect((await checkRootKeys(db, sealing)).keys).toEqual([
    { id: second.id, in_file: false, seals: true, data_keys: 2 },
    { id: first.id, in_file: true, seals: false, data_keys: 0 },
  ]);
  write([second]);
});

test("a key by which something is sealed is not retired, and one that was changed is found", async () => {
  const { db, context } = world;
  const { sealing } = context;
  await sealing.seal(db, about("org_d"), "x");
  const before = await sealing.rootKeys();
  const next = newRootKey();
  write([next, ...before]);
  await sql`insert into root_keys (id) values (${next.id})`.execute(db);
  expect((await retireRootKeys(db)).retired).toEqual([]);
  await sql`update data_keys set wrapped = set_byte(wrapped, 20, (get_byte(wrapped, 20) + 1) % 256)
    where owner = 'org_d'`.execute(db);
  expect((await checkRootKeys(db, sealing)).damaged).toEqual(["org_d"]);
  await expect(sealUnder(db, sealing, next.id)).rejects.toMatchObject({ code: "secret_damaged" });
  await sql`delete from data_keys where owner = 'org_d'`.execute(db);
});

test("two owners' first secrets at the same time have one key each, and one root key", async () => {
  const { db, context } = world;
  const owners = Array.from({ length: 8 }, (_, index) => `org_${index % 2}`);
  const all = await Promise.all(owners.map((owner) => context.sealing.seal(db, about(owner), owner)));
  for (const [index, owner] of owners.entries())
    expect(await context.sealing.open(db, about(owner), all[index] ?? Buffer.of())).toBe(owner);
});
