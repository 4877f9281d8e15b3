// `--secret` of a build: a secret of the organization by its name, or what a file holds.

import { readFile } from "node:fs/promises";
import { InvalidArgumentError } from "commander";

export interface BuildSecret {
  readonly name: string;
  /** Undefined: the organization's own. */
  readonly file: string | undefined;
}

export function collectBuildSecret(
  text: string,
  before: readonly BuildSecret[] = [],
): readonly BuildSecret[] {
  const [name = "", ...rest] = text.split("=");
  if (name === "") throw new InvalidArgumentError("It must have the form NAME or NAME=FILE.");
  return [...before, { name, file: rest.length === 0 ? undefined : rest.join("=") }];
}

interface ReadSecrets {
  /** Names of the organization's secrets, for the request; undefined: none. */
  readonly stored: { name: string }[] | undefined;
  /** Contents of the files, by name. */
  readonly values: Readonly<Record<string, string>>;
}

export async function readBuildSecrets(secrets: readonly BuildSecret[] = []): Promise<ReadSecrets> {
  const stored = secrets.filter(({ file }) => file === undefined).map(({ name }) => ({ name }));
  const values: [string, string][] = [];
  for (const { name, file } of secrets)
    if (file !== undefined) values.push([name, await readFile(file, "utf8")]);
  return { stored: stored.length === 0 ? undefined : stored, values: Object.fromEntries(values) };
}
