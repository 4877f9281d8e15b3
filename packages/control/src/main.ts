// skerry-control: `serve` (default), `migrate`, `bootstrap --name NAME`.

import { parseArgs } from "node:util";
import { CertificateError } from "./certificate.ts";
import { ConfigError, readConfig, readDatabaseUrl, readRunAs } from "./config.ts";
import { ListenError } from "./listen.ts";
import { dropPrivileges } from "./privileges.ts";
import { serve } from "./serve.ts";
import { bootstrap } from "./services/tokens.ts";
import { openDatabase, type Database } from "./store/database.ts";
import { migrate } from "./store/migrations.ts";

try {
  dropPrivileges(readRunAs());
  await main();
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { name: { type: "string", default: "bootstrap" } },
  });
  switch (positionals[0] ?? "serve") {
    case "serve":
      return serve(readConfig());
    case "migrate":
      return withDatabase(async (db) => {
        const applied = await migrate(db);
        process.stdout.write(`${applied} migrations applied\n`);
      });
    case "bootstrap":
      return withDatabase(async (db) => {
        await migrate(db);
        const { organization_id, token } = await bootstrap(db, values.name);
        process.stdout.write(`${JSON.stringify({ organization_id, token })}\n`);
      });
    default:
      throw new Error(`There is no command "${positionals[0]}": use serve, migrate or bootstrap.`);
  }
}

async function withDatabase(work: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(readDatabaseUrl(), () => undefined);
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}

function describe(error: unknown): string {
  const expected = [ConfigError, ListenError, CertificateError];
  if (expected.some((kind) => error instanceof kind)) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
