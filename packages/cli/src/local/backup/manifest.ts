// What a backup says of itself.

import { CliError } from "../../errors/errors.ts";
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

/** A digest beside it tells of damage alone, so its text may be anything. What is shown of it holds no control characters. */
export function readManifest(text: Buffer, path: string): Manifest {
  const manifest = parsed(text);
  if (typeof manifest["format"] === "number" && manifest["format"] > FORMAT)
    throw new CliError("backup_newer", `${path} was written in a newer format.`, {
      remediation: "Nothing was changed. Restore it with the version that wrote it.",
    });
  const wrong = Object.entries(FIELDS).find(([name, isRight]) => !isRight(manifest[name]));
  if (wrong !== undefined)
    throw new CliError(
      "backup_damaged",
      `${path} cannot be restored: its manifest has a wrong "${wrong[0]}".`,
      {
        remediation: "Nothing was changed. Restore an older backup, or another copy of this one.",
      },
    );
  // Each field was looked at.
  return manifest as unknown as Manifest;
}

function parsed(text: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text.toString("utf8"));
    // Of a number or a string no field is there.
    return { ...(value as object) };
  } catch {
    return {};
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isWord = (value: unknown): boolean => typeof value === "string" && /^[\w.:+-]{1,255}$/.test(value);

const FIELDS: Readonly<Record<keyof Manifest, (value: unknown) => boolean>> = {
  format: (value) => value === FORMAT,
  skerry: isWord,
  created_at: isWord,
  machine: isWord,
  postgresql: isCount,
  migrations: (value) => Array.isArray(value) && value.every(isCount),
  organizations: isCount,
  joined_hosts: isCount,
  contents: (value) => Array.isArray(value) && isContents(value),
};

/** The database, and at most the settings beside it. */
function isContents(contents: readonly unknown[]): boolean {
  const names = contents.map((content) => (content as Partial<Content> | null)?.name);
  return (
    names.includes(DATABASE) &&
    new Set(names).size === names.length &&
    names.every((name) => name === DATABASE || name === SETTINGS) &&
    // Each is an object, because it has a name.
    (contents as readonly Content[]).every(
      ({ bytes, sha256 }) => isCount(bytes) && /^[0-9a-f]{64}$/.test(String(sha256)),
    )
  );
}
