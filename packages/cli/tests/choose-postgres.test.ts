import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { choosePostgres, clusterMajor, MARKER } from "../src/local/servers/choose-postgres.ts";

test("a new database is made by the newest PostgreSQL, and one that is there is run by what made it", () => {
  expect(choosePostgres([15, 17], undefined)).toBe(17);
  expect(choosePostgres([15, 17], 15)).toBe(15);
});

test("after an upgrade that took its PostgreSQL away, the database is left alone and the error says what to do", () => {
  expect(() => choosePostgres([17], 15)).toThrow("made by PostgreSQL 15, and this machine has 17");
  expect(() => choosePostgres([], undefined)).toThrow("PostgreSQL 14 or newer is not in");
});

test("the version of a database is read from it, once it was made to its end", async () => {
  const postgresData = await mkdtemp("/tmp/skerry-unit-postgres-");
  try {
    await writeFile(join(postgresData, "PG_VERSION"), "15\n");
    expect(await clusterMajor({ postgresData })).toBeUndefined();
    await writeFile(join(postgresData, MARKER), "");
    expect(await clusterMajor({ postgresData })).toBe(15);
  } finally {
    await rm(postgresData, { recursive: true, force: true });
  }
});
