// `--secret`: secrets of the organization in the environment of a VM.

import { InvalidArgumentError, type Command } from "commander";
import { SECRET_NAME_PATTERN } from "@skerry/contract/secrets/secret-bounds";

export interface SecretFlags {
  readonly secret?: SecretWish[];
}

interface SecretWish {
  readonly name: string;
  readonly as?: string;
}

const NAME = new RegExp(SECRET_NAME_PATTERN);

export function addSecretFlag(command: Command): Command {
  return command.option(
    "--secret <NAME[=VARIABLE]>",
    "secret of the organization to have as an environment variable; repeatable; see `skerry secret`",
    collectSecret,
  );
}

function collectSecret(text: string, before: readonly SecretWish[] = []): SecretWish[] {
  const [name = "", as, ...more] = text.split("=");
  if (more.length > 0 || !NAME.test(name) || !NAME.test(as ?? name))
    throw new InvalidArgumentError("It must be NAME or NAME=VARIABLE, of letters, digits and _.");
  return [...before, { name, ...(as !== undefined && { as }) }];
}
