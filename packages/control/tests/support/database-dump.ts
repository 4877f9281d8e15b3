// A dump of a world's database, as `skerry backup` has one, and the values in it.

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import type { World } from "./world.ts";

const DUMP_MAX_BYTES = 256 * 1024 * 1024;

/** As text: a line for each row, its columns between tabs. */
export function dump({ databaseUrl }: Pick<World, "databaseUrl">): string {
  const [name = ""] = new URL(databaseUrl).pathname.split("/").slice(1);
  return execFileSync(
    join(postgresFolder(), "pg_dump"),
    ["--format=plain", "--host", inject("controlPostgres"), "--username=skerry", name],
    { encoding: "utf8", maxBuffer: DUMP_MAX_BYTES },
  );
}

/** Each value that may be a key: columns as they are, their bytes where they are hexadecimal or base64, and the texts inside JSON. */
export function valuesOf(dumped: string): Buffer[] {
  const found = new Map<string, Buffer>();
  const add = (value: Buffer) => void found.set(value.toString("hex"), value);
  for (const field of fieldsOf(dumped)) {
    add(Buffer.from(field));
    for (const [text] of field.matchAll(/[A-Za-z0-9+/_-]{16,}={0,2}/g)) {
      add(Buffer.from(text));
      add(Buffer.from(text, "base64"));
      if (/^(?:[0-9a-f]{2})+$/.test(text)) add(Buffer.from(text, "hex"));
    }
  }
  return [...found.values()].filter(({ length }) => length >= KEY_MIN_BYTES);
}

/** A shorter one can be guessed without any dump. */
const KEY_MIN_BYTES = 16;

function fieldsOf(dumped: string): Set<string> {
  const fields = new Set<string>();
  for (const [, rows = ""] of dumped.matchAll(/^COPY [^\n]*;\n([\s\S]*?)^\\\.$/gm))
    for (const row of rows.split("\n"))
      for (const field of row.split("\t")) fields.add(field.replaceAll("\\\\", "\\").replace(/^\\x/, ""));
  return fields;
}

function postgresFolder(): string {
  const root = "/usr/lib/postgresql";
  const [newest = ""] = readdirSync(root).toSorted((one, other) => Number(other) - Number(one));
  return join(root, newest, "bin");
}
