// `skerry restore`: a control plane from a backup, in an empty state folder. Everything is checked before anything is made, and a restore that
// breaks off leaves a marker, so that no command starts half of a database.
//
// A backup is input: a file that came from elsewhere, or was changed where it lay. It gives rows of our own tables and values of our own
// settings, and nothing in it is executed, whether it is verified or not.

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { RootKey } from "@skerry/contract/sealing/root-key-file";
import { CliError } from "../../errors/errors.ts";
import { controlCommand, feedControlCommand } from "../servers/control-command.ts";
import { installedMajors } from "../servers/choose-postgres.ts";
import { Postgres } from "../servers/postgres.ts";
import { awaitRootKey, idsOfRootKeys, placeRootKeys, readRootKeys } from "../servers/root-key.ts";
import { makeFolders } from "../servers/supervise.ts";
import { RESTORING, type Layout } from "../system/layout.ts";
import { lockCommands } from "../system/lock.ts";
import { requireRoot } from "../system/require-root.ts";
import { writeSettings } from "../system/settings-file.ts";
import { step } from "../system/step.ts";
import { ensureSystemUser } from "../system/system-user.ts";
import { ArchiveReader, type Content } from "./archive.ts";
import { DatabaseTools } from "./database-tools.ts";
import { entriesOf, rowsOf, strangersOf, type Dump } from "./dump.ts";
import { DATABASE, readManifest, SETTINGS, type Manifest } from "./manifest.ts";
import { whyUnverified } from "./origin.ts";
import { restoreReport } from "./restore-report.ts";
import { takeSettings, type TakenSettings } from "./restored-settings.ts";
import { whileThereIsRoom } from "./room.ts";

const SETTINGS_MAX_BYTES = 256 * 1024;

export interface RestoreOptions {
  /** A copy of the root key file; undefined: that of the layout, where it is there. */
  readonly rootKeyCopy: string | undefined;
  readonly acceptUnverified: boolean;
}

/** Resolves with what the operator has to know. */
export async function restore(layout: Layout, file: string, options: RestoreOptions): Promise<string> {
  requireRoot("restore");
  const path = resolve(file);
  await using archive = await ArchiveReader.open(path);
  const text = await archive.manifest();
  const manifest = readManifest(text, path);
  const keys = await keysAtHand(layout, options);
  const unverified = whyUnverified(text, await archive.mac(), keys);
  if (unverified !== undefined && !options.acceptUnverified) throw notVerified(path, unverified);
  await step("Check the backup", async () => {
    for (const content of manifest.contents) await archive.check(content);
  });
  const user = await ensureSystemUser(layout.state);
  const dump = () => archive.checked(contentOf(manifest, DATABASE));
  const migrations = await refuseNewer(layout, manifest, dump);
  await refuseUsed(layout);
  await mkdir(layout.state, { recursive: true, mode: 0o711 });
  await writeFile(join(layout.state, RESTORING), `${path}\n`, { mode: 0o600 });
  await makeFolders(layout);
  await lockCommands(layout, "skerry restore");
  const plane = await step("Restore the database", () => restoreDatabase(layout, dump, migrations));
  if (options.rootKeyCopy !== undefined) await placeRootKeys(layout, keys, user);
  const rootKeys = await missingRootKeys(layout, plane.root_keys);
  const settings = manifest.contents.some(({ name }) => name === SETTINGS)
    ? await restoreSettings(layout, archive)
    : undefined;
  await rm(join(layout.state, RESTORING));
  const { joined_hosts: joinedHosts, leftOut } = plane;
  return restoreReport(layout, manifest, { joinedHosts, settings, rootKeys, leftOut, unverified });
}

/** Throws where a copy was named that cannot be read. */
async function keysAtHand(layout: Layout, { rootKeyCopy }: RestoreOptions): Promise<readonly RootKey[]> {
  if (rootKeyCopy !== undefined) return readRootKeys({ rootKeyFile: resolve(rootKeyCopy) });
  return readRootKeys(layout).catch(() => []);
}

function notVerified(path: string, why: string): CliError {
  return new CliError(
    "backup_unverified",
    `It is not known that ${path} was made by your installation. ${why}`,
    {
      remediation:
        "Nothing was changed. Name a copy of the root key file with --root-key. If you know where the file comes from: --accept-unverified.",
    },
  );
}

function contentOf({ contents }: Manifest, name: string): Content {
  const found = contents.find((content) => content.name === name);
  if (found === undefined) throw new Error(`the manifest has no ${name}`);
  return found;
}

interface RestoredPlane {
  readonly joined_hosts: number;
  /** Ids of the keys by which its secrets are sealed. */
  readonly root_keys: readonly string[];
}

/** As control prints it. */
interface RestoredData {
  readonly dropped: readonly string[];
  readonly names: readonly string[];
}

async function restoreDatabase(
  layout: Layout,
  dump: Dump,
  migrations: readonly number[],
): Promise<RestoredPlane & { readonly leftOut: readonly string[] }> {
  const user = await ensureSystemUser(layout.state);
  const isPrivate = layout.externalDatabaseUrl === undefined;
  const postgres = isPrivate ? await Postgres.open(layout, user) : undefined;
  await postgres?.prepare(user);
  // The folder was empty, so what there is of a database is of a restore that broke off.
  await postgres?.start({ anew: true });
  try {
    const tools = await DatabaseTools.open(layout, user);
    if ((await tools.ask("select count(*) from pg_tables where schemaname = 'public'")) !== "0")
      throw databaseUsed();
    // The disk of an operator's own database is on a machine that we do not see.
    const rows = isPrivate ? whileThereIsRoom(rowsOf(dump), layout.postgresData) : rowsOf(dump);
    const answer = await feedControlCommand(layout, ["restore-data", ...migrations.map(String)], {
      failure: "restore_failed",
      user,
      input: rows,
    });
    // Control is of the same build.
    const { dropped, names } = answer as RestoredData;
    const plane = (await controlCommand(layout, ["hold-hosts"], {
      failure: "restore_failed",
    })) as RestoredPlane;
    const leftOut = new Set([...strangersOf(await entriesOf(dump), names), ...dropped]);
    return { ...plane, leftOut: [...leftOut] };
  } finally {
    await postgres?.stop();
  }
}

/** Those that the file does not have. Then none is made at the start: with a new one nothing of the backup would open. */
async function missingRootKeys(layout: Layout, needed: readonly string[]): Promise<readonly string[]> {
  const there = await idsOfRootKeys(layout);
  const missing = needed.filter((id) => !there.includes(id));
  if (missing.length > 0) await awaitRootKey(layout, missing, await ensureSystemUser(layout.state));
  return missing;
}

/** For `skerry install`; the file has what was taken, and nothing else of the backup's. */
async function restoreSettings({ state }: Layout, archive: ArchiveReader): Promise<TakenSettings> {
  const text = await archive.text(SETTINGS, SETTINGS_MAX_BYTES);
  const settings = takeSettings(text.toString("utf8"));
  await rm(join(state, SETTINGS), { force: true });
  await writeFile(join(state, SETTINGS), writeSettings(settings.taken), { mode: 0o600, flag: "wx" });
  return settings;
}

/** Before anything is made. Returns the migrations that the dump's database had: what the manifest says of them is not relied on. */
async function refuseNewer(
  layout: Layout,
  { migrations, postgresql, skerry }: Manifest,
  dump: Dump,
): Promise<readonly number[]> {
  const known = (await controlCommand(layout, ["known-migrations"], {
    failure: "restore_failed",
  })) as readonly number[];
  refuseUnknown(migrations, known, skerry);
  const majors = await installedMajors();
  if (layout.externalDatabaseUrl === undefined && !majors.some((major) => major >= postgresql))
    throw new CliError(
      "postgresql_missing",
      `The backup is of PostgreSQL ${postgresql}, and this machine has ${majors.join(", ") || "none"}.`,
      { remediation: `Nothing was changed. Install postgresql-${postgresql} or newer.` },
    );
  const dumped = (await feedControlCommand(layout, ["read-migrations"], {
    failure: "backup_damaged",
    user: await ensureSystemUser(layout.state),
    input: rowsOf(dump, "schema_migrations"),
  })) as readonly number[];
  refuseUnknown(dumped, known, skerry);
  return dumped;
}

function refuseUnknown(migrations: readonly number[], known: readonly number[], skerry: string): void {
  const unknown = migrations.filter((number) => !known.includes(number));
  if (unknown.length === 0) return;
  throw new CliError(
    "backup_newer",
    `The backup is of Skerry ${skerry} and has migration ${unknown.join(", ")}, which this version does not know.`,
    { remediation: "Nothing was changed. Restore it with that version or a newer one." },
  );
}

async function refuseUsed({ state }: Layout): Promise<void> {
  const names = await readdir(state).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (names.length === 0 || names.includes(RESTORING)) return;
  throw new CliError("state_not_empty", `${state} is not empty.`, {
    remediation: `Nothing was changed. Restore into an empty folder, for example SKERRY_STATE=${state}-restored.`,
  });
}

function databaseUsed(): CliError {
  return new CliError("database_not_empty", "The database of SKERRY_DATABASE_URL has tables.", {
    remediation: "Nothing was changed in it. Restore into an empty database.",
  });
}
