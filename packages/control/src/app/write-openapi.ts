// Writes openapi.json, which is committed: what changes in the API shows in a review. `--check` only says whether it is current.

import { readFile, writeFile } from "node:fs/promises";
import { pino } from "pino";
import { limitDefaults } from "@skerry/contract/limits/quotas";
import { buildServer } from "./server.ts";
import { openDatabase } from "../db/database.ts";
import { makeContext } from "./make-context.ts";

const target = new URL("../../openapi.json", import.meta.url);

// No statement reaches the database: the document comes from the routes alone.
const db = openDatabase("postgresql:///unused", () => undefined);
const limits = {
  organization: limitDefaults,
  authFailuresPerMinute: 1,
  downloadsPerMinute: 1,
  visitorsPerMinute: 1,
  vcpusPerCpu: 1,
  idempotencyWaitMs: 1,
  buildCacheGib: 20,
  buildCacheHostGib: 100,
  buildCacheStepMs: 0,
  metricsOrganizations: 0,
};
const { app } = await buildServer(makeContext(db, pino({ level: "silent" }), { limits }));
const text = `${JSON.stringify(app.swagger(), undefined, 2)}\n`;
await app.close();
await db.destroy();

if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8").catch(() => "")) !== text) {
  process.stderr.write(
    "packages/control/openapi.json is not current: run node packages/control/src/app/write-openapi.ts\n",
  );
  process.exitCode = 1;
}
