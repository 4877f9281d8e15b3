import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";
import { ownLayout } from "./system/layout.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerKeyCommands(program: Command, cli: Cli): void {
  const keys = program
    .command("key")
    .description(
      "The root keys, by which secrets in the database are sealed. On the control plane's machine.",
    );
  const check = keys
    .command("check")
    .description("Show the root keys, and whether all that is sealed opens.")
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
    .action(async () => {
      const { rotateKey } = await import("./root-keys.ts");
      const { id, data_keys } = await rotateKey(ownLayout());
      await cli.output.note(
        `The key ${id} seals from now on, and ${data_keys} data keys with it. Copy the file again; \`skerry key retire\` ends the key before.`,
      );
    });
  addExamples(rotate, "skerry key rotate");
  const retire = keys
    .command("retire")
    .description("Take root keys out of the file by which nothing is sealed any more.")
    .action(async () => {
      const { retireKeys } = await import("./root-keys.ts");
      const retired = await retireKeys(ownLayout());
      await cli.output.note(
        retired.length === 0
          ? "Every key in the file is needed."
          : `Retired: ${retired.join(", ")}. Secrets in backups of before open with it alone.`,
      );
    });
  addExamples(retire, "skerry key retire");
}
