// `skerry backup`: what a control plane on another machine needs to be this one. All of it is in the database: organizations, tokens (as digests),
// the authority of the cluster with its keys, history. What runs goes on meanwhile.

import { lstat } from "node:fs/promises";
import { hostname } from "node:os";
import { resolve } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { CliError, exitCodes } from "../../errors/errors.ts";
import { controlCommand } from "../servers/control-command.ts";
import { Postgres } from "../servers/postgres.ts";
import { readRootKeys } from "../servers/root-key.ts";
import { fileExists } from "../system/files.ts";
import { installedSettings } from "../system/installed-settings.ts";
import type { Layout } from "../system/layout.ts";
import { lockCommands } from "../system/lock.ts";
import { requireRoot } from "../system/require-root.ts";
import { step } from "../system/step.ts";
import { findSystemUser } from "../system/system-user.ts";
import { ArchiveWriter } from "./archive.ts";
import { DatabaseTools } from "./database-tools.ts";
import { DATABASE, SETTINGS, writeManifest, type ManifestFacts } from "./manifest.ts";
import { macOf } from "./origin.ts";

export interface BackupOptions {
  /** A file of that name is replaced once the backup is whole. */
  readonly isForced: boolean;
}

export async function backup(layout: Layout, file: string, { isForced }: BackupOptions): Promise<void> {
  if (file === "-")
    throw new CliError(
      "invalid_input",
      "A backup is not written to standard output: a file that broke off would look whole.",
      {
        remediation: "Name a file; it is there under its name once it is whole.",
        exitCode: exitCodes.usage,
      },
    );
  requireRoot("backup");
  await refuseTarget(resolve(file), isForced);
  if (layout.joined !== undefined) throw onlyHost(layout.joined.control);
  const user = await findSystemUser();
  const isPrivate = layout.externalDatabaseUrl === undefined;
  if (user === undefined || (isPrivate && !(await fileExists(layout.postgresData)))) throw nothing(layout);
  await using archive = await ArchiveWriter.create(resolve(file));
  await using _database = isPrivate ? await runningPostgres(layout) : undefined;
  const tools = await DatabaseTools.open(layout, user);
  await step("Back up the database", () => archive.add(DATABASE, tools.dump()));
  const settings = installedSettings(layout.dist);
  if (settings !== undefined) await archive.add(SETTINGS, oneChunk(settings));
  // The first one seals now. A control plane that was restored without its root key has none yet.
  const [key] = await readRootKeys(layout).catch(() => []);
  await archive.finish(
    writeManifest(await factsOf(layout, tools.major)),
    key === undefined ? undefined : (manifest) => macOf(manifest, key),
  );
  await noteBackup(layout);
  process.stdout.write(
    `${resolve(file)} holds the database with the cluster's keys: keep it like a password.\nNot in it: the disks of machines (host/vms in the state folder), templates, the files of SKERRY_TLS_CERT and SKERRY_TLS_KEY,\nand the root key: keep a copy of ${layout.rootKeyFile} elsewhere. Without it no secret in the backup opens,\nand a control plane restored from it reaches no host on another machine.\n`,
  );
}

/**
 * Tells `/v1/status`, the dashboard and the metrics of the backup, which is whole without that: between an
 * upgrade and its first start the database may have no place for the time yet.
 */
async function noteBackup(layout: Layout): Promise<void> {
  await controlCommand(layout, ["note-backup"], { failure: "backup_failed" }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The time of this backup could not be noted: ${why}\n`);
  });
}

/** What is there may be the only other backup, or no backup at all. */
async function refuseTarget(path: string, isForced: boolean): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found?.isDirectory() === true)
    throw new CliError("is_directory", `${path} is a directory.`, { remediation: "Name a file in it." });
  if (found === undefined || isForced) return;
  throw new CliError("file_exists", `${path} is there already.`, {
    remediation: "Name another file, or replace it with --force.",
  });
}

async function factsOf(layout: Layout, postgresql: number): Promise<ManifestFacts> {
  const ask = (command: string) => controlCommand(layout, [command], { failure: "backup_failed" });
  // Control is of the same build.
  const plane = (await ask("describe")) as { joined_hosts: number; organizations: number };
  const migrations = (await ask("check-schema")) as readonly number[];
  return {
    skerry: packageJson.version,
    created_at: new Date().toISOString(),
    machine: hostname(),
    postgresql,
    migrations,
    organizations: plane.organizations,
    joined_hosts: plane.joined_hosts,
  };
}

/** It runs afterwards, and ends with the backup where it was started for it. */
async function runningPostgres(layout: Layout): Promise<AsyncDisposable | undefined> {
  const user = await findSystemUser();
  if (user === undefined) throw nothing(layout);
  const postgres = await Postgres.open(layout, user);
  if (await postgres.isRunning()) return undefined;
  await lockCommands(layout, "skerry backup");
  await postgres.prepare(user);
  await postgres.start();
  return { [Symbol.asyncDispose]: () => postgres.stop() };
}

async function* oneChunk(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

function nothing({ state }: Layout): CliError {
  return new CliError("nothing_to_back_up", `There is no control plane in ${state}.`, {
    remediation: "Say where it is with SKERRY_STATE.",
  });
}

function onlyHost(control: string): CliError {
  return new CliError("nothing_to_back_up", `This machine is a host of ${control}, which has the database.`, {
    remediation: "Run it there. The disks of machines are in host/vms of the state folder.",
  });
}
