import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";
import { ownLayout } from "./system/layout.ts";

interface JsonFlag {
  readonly json?: boolean;
}

interface SigningFlag {
  readonly signing?: boolean;
}

export function registerKeyCommands(program: Command, cli: Cli): void {
  const keys = program
    .command("key")
    .description(
      "The root keys, by which secrets in the database are sealed, and the keys that sign URLs. On the control plane's machine.",
    );
  const check = keys
    .command("check")
    .description("Show the keys, and whether all that is sealed opens.")
    .option("--json", "print JSON")
    .action(async ({ json }: JsonFlag) => {
      const { checkKeys, showKeys } = await import("./root-keys.ts");
      const report = await checkKeys(ownLayout());
      if (json === true) return cli.output.json(report);
      if (!(await showKeys(cli.output, report))) cli.exitCode = 1;
    });
  addExamples(check, "skerry key check");
  const rotate = keys
    .command("rotate")
    .description("Make a new root key and seal everything under it. The one before stays in the file.")
    .option("--signing", "make a new key for signed URLs and E2B's clients instead, and keep the one before")
    .action(async ({ signing }: SigningFlag) => {
      if (signing === true) return rotateSigning(cli);
      const { rotateKey } = await import("./root-keys.ts");
      const { id, data_keys } = await rotateKey(ownLayout());
      await cli.output.note(
        `The key ${id} seals from now on, and ${data_keys} data keys with it. Copy the file again; \`skerry key retire\` ends the key before.`,
      );
    });
  addExamples(rotate, "skerry key rotate", "skerry key rotate --signing");
  const retire = keys
    .command("retire")
    .description("Take root keys out of the file by which nothing is sealed any more.")
    .option("--signing", "end what signing keys before the newest one have signed, instead")
    .action(async ({ signing }: SigningFlag) => {
      if (signing === true) return retireSigning(cli);
      const { retireKeys } = await import("./root-keys.ts");
      const retired = await retireKeys(ownLayout());
      await cli.output.note(
        retired.length === 0
          ? "Every key in the file is needed."
          : `Retired: ${retired.join(", ")}. Secrets in backups of before open with it alone.`,
      );
    });
  addExamples(retire, "skerry key retire", "skerry key retire --signing");
}

async function rotateSigning(cli: Cli): Promise<void> {
  const { rotateSigningKey } = await import("./root-keys.ts");
  const { id, signs_in_s, accepted, retired } = await rotateSigningKey(ownLayout());
  const begins = signs_in_s === 0 ? "now on" : `${signs_in_s} s from now`;
  const before = accepted.map(
    (one) =>
      ` What ${one} has signed is valid until \`skerry key retire --signing\`, or the next \`rotate --signing\`.`,
  );
  const ended = retired.map((one) => ` What ${one} has signed is not valid any more.`);
  await cli.output.note(`The key ${id} signs from ${begins}.${[...before, ...ended].join("")}`);
}

async function retireSigning(cli: Cli): Promise<void> {
  const { retireSigningKeys } = await import("./root-keys.ts");
  const retired = await retireSigningKeys(ownLayout());
  await cli.output.note(
    retired.length === 0
      ? "There is one signing key, which is the newest."
      : `Retired: ${retired.join(", ")}. What they have signed is not valid any more: URLs have to be asked for again, and E2B's clients have to connect to their sandboxes again.`,
  );
}
