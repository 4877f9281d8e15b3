// docs/security.md says of each column that may hold a secret what a reader of the database can do with it. No such column is left out.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { useWorld } from "./support/world.ts";

const world = useWorld();

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Of text and numbers; bytes and JSON may hold anything, whatever their name. */
const SUSPICIOUS =
  /key|secret|token|hash|sha256|digest|code|wrapped|sealed|cookie|password|credential|ticket|cert|private|env|fingerprint|sign|nonce|salt|proof|answer/;

async function columns(): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select table_name || '.' || column_name as name, udt_name as type from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`.execute(world.db);
  return rows;
}

function mayHoldSecret({ name, type }: Column): boolean {
  return /^_?(?:bytea|jsonb?)$/.test(type) || SUSPICIOUS.test(name.slice(name.indexOf(".") + 1));
}

/** The columns in the first cells of the table. */
function documented(): string[] {
  const text = readFileSync(join(import.meta.dirname, "../../../docs/security.md"), "utf8");
  const [, section = ""] = text.split("## What a reader of the database can do");
  return section
    .split(/^## /m, 1)
    .flatMap((part) => part.match(/^\|[^|]*\|/gm) ?? [])
    .flatMap((cell) => [...cell.matchAll(/`([a-z0-9_]+\.[a-z0-9_]+)`/g)])
    .map(([, name = ""]) => name);
}

test("every column that may hold a secret is in docs/security.md, once, and no column that is not there", async () => {
  const all = await columns();
  expect(all.length).toBeGreaterThan(300);
  const told = documented();
  expect(told.length).toBe(new Set(told).size);
  const suspicious = all.filter(mayHoldSecret).map(({ name }) => name);
  expect(suspicious.filter((name) => !told.includes(name))).toEqual([]);
  expect(told.filter((name) => !all.some((column) => column.name === name))).toEqual([]);
});

test.each([
  ["bytes", { name: "t.content", type: "bytea" }, true],
  ["a list of bytes", { name: "t.contents", type: "_bytea" }, true],
  ["JSON", { name: "t.config", type: "jsonb" }, true],
  ["the key of a table", { name: "t.api_key", type: "text" }, true],
  ["a word of a table's name", { name: "tokens.kind", type: "text" }, false],
])("%s may hold a secret: %j, %s", (_what, column, may) => {
  expect(mayHoldSecret(column)).toBe(may);
});
