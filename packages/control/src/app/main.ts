// skerry-control: `serve` (default), `check-settings`, `migrate`, `bootstrap --name NAME`,
// `private-cidrs [ORG [CIDR… | none]]`, `key check`, `key seal-under ID`, `key retire`, `key rotate-signing`,
// `key retire-signing`, `describe`, `note-backup`, `hold-hosts`, `take-over`, `check-schema`,
// `known-migrations`, `read-migrations`, `restore-data NUMBER…`, `way-back NUMBER…`.

import { parseArgs } from "node:util";
import { pino } from "pino";
import { SkerryError } from "@skerry/contract/errors";
import { CertificateError, readKeyPair } from "./tls-certificate.ts";
import {
  readClientsFolder,
  readConfig,
  readDashboardFolder,
  readDatabaseUrl,
  readRootKeyFile,
  readRunAs,
} from "./config.ts";
import { openSandboxCertificate } from "./sandbox-certificate.ts";
import { ConfigError } from "./settings-reader.ts";
import { ListenError } from "./listen.ts";
import { dropPrivileges } from "./privileges.ts";
import { serve } from "./serve.ts";
import { runService } from "./run-service.ts";
import { readClientFiles } from "../clients/client-files.ts";
import type { Context } from "../context.ts";
import { readDashboardFiles } from "../web/dashboard-files.ts";
import { organizationMeant } from "../organizations/organization-meant.ts";
import { rooms } from "./rooms.ts";
import { changePrivateCidrs } from "../organizations/private-cidrs.ts";
import { checkRootKeys, neededRootKeys, retireRootKeys, sealUnder } from "../sealing/root-key-commands.ts";
import { authorityKeyState, insistOnSealedAuthority } from "../joining/authority-key.ts";
import { Sealing } from "../sealing/sealing.ts";
import { checkSigningKeys, retireSigningKeys, rotateSigningKey } from "../signing/signing-key-commands.ts";
import { bootstrap } from "../organizations/tokens.ts";
import { openForMigration, type Database } from "../db/database.ts";
import { describeControlPlane, holdHosts, noteBackup, takeOver } from "../hosts/command-generation.ts";
import { checkSchema, knownMigrations, migrate, wayBackFault } from "../db/migrations.ts";
import { readDumpedMigrations, RestoreFault, restoreData } from "../db/restore-data.ts";

try {
  const handedOut = {
    clients: readClientFiles(readClientsFolder()),
    dashboard: readDashboardFiles(readDashboardFolder()),
  };
  dropPrivileges(readRunAs());
  await main(handedOut);
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exitCode = 1;
}

async function main(handedOut: Pick<Context, "clients" | "dashboard">): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { name: { type: "string", default: "bootstrap" } },
  });
  switch (positionals[0] ?? "serve") {
    case "serve":
      return serve(readConfig(), handedOut);
    case "check-settings": {
      const { tls, sandboxDomain, logLevel } = readConfig();
      if (tls !== undefined) await readKeyPair(tls);
      using _certificate = await openSandboxCertificate(sandboxDomain, {
        everyMs: 60_000,
        log: pino({ level: logLevel }),
      });
      return void process.stdout.write("{}\n");
    }
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
    case "private-cidrs":
      return withDatabase(async (db) => {
        const [, ...words] = positionals;
        const [asked, ...cidrs] = words;
        const named = asked === undefined ? [] : [await organizationMeant(db, asked), ...cidrs];
        const granted = await changePrivateCidrs({ db, rooms }, named);
        // So that it is in force when the command ends. Where that fails, the control plane does it at its next turn.
        if (words.length > 1) await runService(readConfig(), "vm-cleanup").catch(() => undefined);
        process.stdout.write(`${JSON.stringify(granted)}\n`);
      });
    case "key":
      return withDatabase(async (db) => {
        const answer = await keyCommand(db, positionals.slice(1));
        process.stdout.write(`${JSON.stringify(answer)}\n`);
      });
    default:
      return restoreCommand(positionals[0] ?? "");
  }
}

async function keyCommand(db: Database, [verb, id = ""]: readonly string[]): Promise<unknown> {
  const sealing = new Sealing(readRootKeyFile());
  if (verb === "check")
    return {
      ...(await checkRootKeys(db, sealing)),
      authority: await authorityKeyState(db),
      signing: await checkSigningKeys(db, sealing),
    };
  if (verb === "seal-under") {
    const sealed = await sealUnder(db, sealing, id);
    await insistOnSealedAuthority(db, sealing);
    return sealed;
  }
  if (verb === "retire") return retireRootKeys(db);
  if (verb === "rotate-signing") return rotateSigningKey(db, sealing);
  if (verb === "retire-signing") return retireSigningKeys(db);
  throw new Error(
    "There is key check, key seal-under ID, key retire, key rotate-signing, and key retire-signing.",
  );
}

/** For backups, and for going back a version. */
async function restoreCommand(name: string): Promise<void> {
  const answer = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);
  switch (name) {
    case "known-migrations":
      return answer(knownMigrations);
    // Both read the output of pg_restore at their standard input.
    case "read-migrations":
      return answer(await readDumpedMigrations(process.stdin));
    case "restore-data":
      return answer(await restoreData(readDatabaseUrl(), process.argv.slice(3).map(Number), process.stdin));
    case "way-back":
      return answer({ fault: wayBackFault(process.argv.slice(3).map(Number)) ?? null });
    case "check-schema":
      return withDatabase(async (db) => answer(await checkSchema(db)));
    case "describe":
      return withDatabase(async (db) => answer(await describeControlPlane(db)));
    case "note-backup":
      return withDatabase(async (db) => answer(await noteBackup(db)));
    case "hold-hosts":
      return withDatabase(async (db) => {
        await migrate(db);
        answer({ ...(await holdHosts(db)), root_keys: await neededRootKeys(db) });
      });
    case "take-over":
      return withDatabase(async (db) => answer(await takeOver(db)));
    default:
      throw new Error(
        `There is no command "${name}": use serve, check-settings, migrate, bootstrap, limits, private-cidrs, key, service, describe, note-backup, hold-hosts, take-over, check-schema, known-migrations, read-migrations, restore-data or way-back.`,
      );
  }
}

async function withDatabase(work: (db: Database) => Promise<void>): Promise<void> {
  const db = openForMigration(readDatabaseUrl());
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}

function describe(error: unknown): string {
  const expected = [ConfigError, ListenError, CertificateError, SkerryError, RestoreFault];
  if (expected.some((kind) => error instanceof kind)) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
