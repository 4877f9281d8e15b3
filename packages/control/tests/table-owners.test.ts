// Each table is written by one room: a change of what its rows mean is then made in one folder. `sandboxes`
// and `machines` are views of `vms`, each with a room of its own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const src = join(import.meta.dirname, "../src");

/** Files that write tables of other rooms, and why they may. */
const GUESTS: Readonly<Record<string, string>> = {
  "moves/move-store.ts": "a VM changes its host under the lock of its target, and nothing comes between",
  "moves/saved-move-store.ts": "the same of what is paused, and of snapshots",
  "auth/bearer-store.ts": "the use of a token is noted by the query that finds it, below the room of tokens",
};

interface Write {
  readonly table: string;
  readonly file: string;
}

const WRITES =
  /\b(?:insert into|update|delete from)\s+(?<table>[a-z_0-9]+)\s+(?!\()(?:set\b|where\b|as\b|[a-z]+\s+set\b|using\b)|\binsert into\s+(?<inserted>[a-z_0-9]+)\s*\(|\.(?:insertInto|updateTable|deleteFrom)\(\s*"(?<built>\w+)"/g;

function writesOf(file: string, text: string): Write[] {
  return [...text.matchAll(WRITES)].flatMap(({ groups: { table, inserted, built } = {} }) => {
    const name = table ?? inserted ?? built;
    return name === undefined ? [] : [{ table: name, file }];
  });
}

const roomOf = (file: string): string => file.split("/")[0] ?? file;

/** Tables with more than one writing room, without the files that may. */
function shared(writes: readonly Write[]): string[] {
  const rooms = new Map<string, Set<string>>();
  for (const { table, file } of writes)
    if (!(file in GUESTS)) rooms.set(table, (rooms.get(table) ?? new Set()).add(roomOf(file)));
  return [...rooms].filter(([, of]) => of.size > 1).map(([table, of]) => `${table}: ${[...of].join(", ")}`);
}

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".ts") && !file.startsWith("db/migrations/"),
);
const writes = files.flatMap((file) => writesOf(file, readFileSync(join(src, file), "utf8")));

test("a table is written by one room", () => {
  expect(new Set(writes.map(({ table }) => table)).size).toBeGreaterThan(40);
  expect(shared(writes)).toEqual([]);
});

test("a file that may write tables of other rooms still does", () => {
  const needed = Object.keys(GUESTS).filter((guest) => {
    const own = writes.filter(({ file }) => !(file in GUESTS) && roomOf(file) === roomOf(guest));
    const owned = new Set(own.map(({ table }) => table));
    return writes.some(({ file, table }) => file === guest && !owned.has(table));
  });
  expect(needed).toEqual(Object.keys(GUESTS));
});

test.each([
  ["inserts", "await sql`\n  insert into vms (id) values ('a')`"],
  ["updates", "await sql`update vms set status = 'failed'`"],
  ["updates by another name", "await sql`update vms v set status = 'failed'`"],
  ["deletes", "await sql`delete from vms where id = 'a'`"],
  ["deletes by the builder", 'await db.deleteFrom("vms").execute()'],
])("a room that %s rows of another one's table is found", (_what, text) => {
  expect(shared([...writes, ...writesOf("logins/planted.ts", text)])).toEqual([
    expect.stringMatching(/^vms: .*logins/),
  ]);
});
