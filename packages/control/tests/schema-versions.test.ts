import { sql } from "kysely";
import { expect, test } from "vitest";
import { checkSchema, knownMigrations, migrate } from "../src/db/migrations.ts";
import { whyCannotServe } from "../src/db/schema-versions.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

test.each([
  ["knows all", [{ number: 16, serves_with: null }], true],
  ["is one release behind", [{ number: 17, serves_with: 16 }], true],
  [
    "is one release behind, with several migrations",
    [
      { number: 17, serves_with: 16 },
      { number: 18, serves_with: 16 },
    ],
    true,
  ],
  ["is two releases behind", [{ number: 19, serves_with: 18 }], false],
  ["meets a migration of a version that skipped releases", [{ number: 17, serves_with: null }], false],
])("a version that %s may serve or says why not", (_name, applied, may) => {
  const known = Array.from({ length: 16 }, (_, index) => index + 1);
  const fault = whyCannotServe(applied, { known, newest: 16 });
  if (may) expect(fault).toBeUndefined();
  else expect(fault).toContain("too old to serve beside");
});

test("this version serves beside the migrations of the next release, and not beside those after it", async () => {
  const newest = Math.max(...knownMigrations);
  const add = (number: number, servesWith: number) =>
    sql`insert into schema_migrations (number, name, serves_with) values (${number}, 'later', ${servesWith})`.execute(
      world.db,
    );
  await add(newest + 1, newest);
  expect(await migrate(world.db)).toBe(0);
  expect(await checkSchema(world.db)).toContain(newest + 1);
  await add(newest + 2, newest + 1);
  await expect(migrate(world.db)).rejects.toThrow(`migration ${newest + 2}, which this version`);
  await expect(checkSchema(world.db)).rejects.toThrow("Start the newer version");
});
