// Writes what follows from the operations and is committed, so that a change of the API shows in a review: openapi.json, and the list of
// actions in the audit log. `--check` only says whether they are current.

import { readFile, writeFile } from "node:fs/promises";
import { pino } from "pino";
import { limitDefaults } from "@skerry/contract/limits/quotas";
import { buildServer } from "./server.ts";
import { openDatabase } from "../db/database.ts";
import { makeContext } from "./make-context.ts";
import { operations } from "./operations.ts";
import { rooms } from "./rooms.ts";

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
const document = `${JSON.stringify(app.swagger(), undefined, 2)}\n`;
await app.close();
await db.destroy();

const actions = new Set([
  ...Object.values(operations).flatMap(({ audit }) => audit?.action ?? []),
  ...rooms.flatMap(({ ownActs = [] }) => ownActs),
]);
const list = `// Actions in the audit log, as noun and verb: those of operations, and those that rooms declare. Written by
// packages/control/src/app/write-openapi.ts. An action that is not here does not compile.

export const auditActions = [
${[...actions]
  .toSorted()
  .map((action) => `  "${action}",\n`)
  .join("")}] as const;
export type AuditAction = (typeof auditActions)[number];

export function isAuditAction(text: string): text is AuditAction {
  return (auditActions as readonly string[]).includes(text);
}
`;

const written = [
  ["packages/control/openapi.json", document],
  ["packages/contract/src/audit/audit-actions.ts", list],
] as const;
for (const [path, text] of written) {
  const file = new URL(`../../../../${path}`, import.meta.url);
  if (!process.argv.includes("--check")) {
    await writeFile(file, text);
  } else if ((await readFile(file, "utf8").catch(() => "")) !== text) {
    process.stderr.write(`${path} is not current: run node packages/control/src/app/write-openapi.ts\n`);
    process.exitCode = 1;
  }
}
