// `skerry restore`: a control plane from a backup, in an empty state folder. Everything is checked before anything is made, and a restore that
// breaks off leaves a marker, so that no command starts half of a database.

import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CliError } from "../../errors.ts";
import { controlCommand } from "../servers/control-command.ts";
import { installedMajors } from "../servers/choose-postgres.ts";
import { Postgres } from "../servers/postgres.ts";
import { awaitRootKey, idsOfRootKeys } from "../servers/root-key.ts";
import { makeFolders } from "../servers/supervise.ts";
import { RESTORING, type Layout } from "../system/layout.ts";
import { lockCommands } from "../system/lock.ts";
import { requireRoot } from "../system/require-root.ts";
import { step } from "../system/step.ts";
import { ensureSystemUser } from "../system/system-user.ts";
import { ArchiveReader } from "./archive.ts";
import { DatabaseTools } from "./database-tools.ts";
import { DATABASE, readManifest, SETTINGS, type Manifest } from "./manifest.ts";

/** Resolves with what the operator has to know. */
export async function restore(layout: Layout, file: string): Promise<string> {
  requireRoot("restore");
  const path = resolve(file);
  await using archive = await ArchiveReader.open(path);
  const manifest = readManifest(await archive.manifest(), path);
  await step("Check the backup", async () => {
    for (const content of manifest.contents) await archive.check(content);
  });
  await refuseNewer(layout, manifest);
  await refuseUsed(layout);
  await mkdir(layout.state, { recursive: true, mode: 0o711 });
  await writeFile(join(layout.state, RESTORING), `${path}\n`, { mode: 0o600 });
  await makeFolders(layout);
  await lockCommands(layout);
  const plane = await step("Restore the database", () => restoreDatabase(layout, archive));
  const rootKeys = await missingRootKeys(layout, plane.root_keys);
  const settings = manifest.contents.some(({ name }) => name === SETTINGS)
    ? await restoreSettings(layout, archive)
    : undefined;
  await rm(join(layout.state, RESTORING));
  return report(layout, manifest, { joinedHosts: plane.joined_hosts, settings, rootKeys });
}

interface RestoredPlane {
  readonly joined_hosts: number;
  /** Ids of the keys by which its secrets are sealed. */
  readonly root_keys: readonly string[];
}

async function restoreDatabase(layout: Layout, archive: ArchiveReader): Promise<RestoredPlane> {
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
    await tools.restore(archive.content(DATABASE));
    const answer = await controlCommand(layout, ["hold-hosts"], { failure: "restore_failed" });
    // Control is of the same build.
    return answer as RestoredPlane;
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

async function restoreSettings({ state }: Layout, archive: ArchiveReader): Promise<string> {
  const file = join(state, SETTINGS);
  const chunks: Buffer[] = [];
  for await (const chunk of archive.content(SETTINGS)) chunks.push(chunk);
  await writeFile(file, Buffer.concat(chunks), { mode: 0o600 });
  return file;
}

/** Before anything is made. */
async function refuseNewer(layout: Layout, { migrations, postgresql, skerry }: Manifest): Promise<void> {
  await ensureSystemUser(layout.state);
  const known = (await controlCommand(layout, ["known-migrations"], {
    failure: "restore_failed",
  })) as readonly number[];
  const unknown = migrations.filter((number) => !known.includes(number));
  if (unknown.length > 0)
    throw new CliError(
      "backup_newer",
      `The backup is of Skerry ${skerry} and has migration ${unknown.join(", ")}, which this version does not know.`,
      { remediation: "Nothing was changed. Restore it with that version or a newer one." },
    );
  const majors = await installedMajors();
  if (layout.externalDatabaseUrl === undefined && !majors.some((major) => major >= postgresql))
    throw new CliError(
      "postgresql_missing",
      `The backup is of PostgreSQL ${postgresql}, and this machine has ${majors.join(", ") || "none"}.`,
      { remediation: `Nothing was changed. Install postgresql-${postgresql} or newer.` },
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

interface Restored {
  readonly joinedHosts: number;
  readonly settings: string | undefined;
  readonly rootKeys: readonly string[];
}

function report(
  { state, rootKeyFile }: Layout,
  { created_at, machine, organizations }: Manifest,
  { joinedHosts, settings, rootKeys }: Restored,
): string {
  const lines = [
    `Restored in ${state}: the control plane of ${machine} as it was at ${created_at}, with ${organizations} organizations and all their tokens.`,
    "Start it with `skerry up`, or with `skerry install` as a service.",
  ];
  if (settings !== undefined)
    lines.push(`The settings of its service are in ${settings}; \`skerry install\` takes them over.`);
  if (rootKeys.length > 0)
    lines.push(
      `Before that, put the copy of the root key file in the place of ${rootKeyFile}: the backup was sealed under ${rootKeys.join(", ")}. Without it no secret opens, and no host on another machine is reached.`,
    );
  if (joinedHosts > 0)
    lines.push(
      `Its ${joinedHosts} hosts on other machines still obey the control plane that the backup was made of. \`skerry take-over\` has them obey this one. From then on they refuse that one, and sandboxes that it has made since the backup are removed.`,
    );
  return lines.join("\n");
}
