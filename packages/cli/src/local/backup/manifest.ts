// What a backup says of itself.

import { CliError } from "../../errors.ts";
import type { Content } from "./archive.ts";

const FORMAT = 1;

export const DATABASE = "database.dump";
export const SETTINGS = "settings.env";

export interface Manifest {
  readonly format: number;
  readonly skerry: string;
  readonly created_at: string;
  /** The machine that it was made on. */
  readonly machine: string;
  /** Major version of PostgreSQL that wrote the dump. */
  readonly postgresql: number;
  readonly migrations: readonly number[];
  readonly organizations: number;
  readonly joined_hosts: number;
  readonly contents: readonly Content[];
}

export type ManifestFacts = Omit<Manifest, "format" | "contents">;

export function writeManifest(facts: ManifestFacts): Omit<Manifest, "contents"> {
  return { format: FORMAT, ...facts };
}

/** Its digest has been checked, so it is as some version of Skerry has written it. */
export function readManifest(value: unknown, path: string): Manifest {
  const manifest = value as Manifest;
  if (manifest.format === FORMAT) return manifest;
  throw new CliError("backup_newer", `${path} was written by Skerry ${manifest.skerry}, in a newer format.`, {
    remediation: "Nothing was changed. Restore it with that version.",
  });
}
