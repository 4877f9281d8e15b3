// What runs only where Skerry itself runs, by name, so that the client alone can say where it is. `status` is in the client too, where it
// tells what a server does.

import type { Command } from "commander";
import { CliError, exitCodes } from "../errors/errors.ts";

export const serverCommands = {
  program: [
    ...[
      "up",
      "down",
      "status",
      "doctor",
      "install",
      "uninstall",
      "upgrade",
      "backup",
      "restore",
      "take-over",
      "key",
    ],
    ...["admin-token", "set-private-cidrs"],
  ],
  host: ["join", "recover-disk"],
} as const;

/** Each of the commands is an error that says where it works. The help does not list them. */
export function pointToServer(parent: Command, names: readonly string[]): void {
  const prefix = parent.name() === "skerry" ? "skerry" : `skerry ${parent.name()}`;
  for (const name of names) {
    parent
      .command(name, { hidden: true })
      .argument("[rest...]")
      .allowUnknownOption()
      .helpOption(false)
      .action(() => {
        throw new CliError(
          "not_in_client",
          `\`${prefix} ${name}\` is not part of the client, which this is.`,
          {
            remediation:
              "It works on a machine that Skerry itself runs on: run it there, with the `skerry` of its checkout or package.",
            exitCode: exitCodes.usage,
          },
        );
      });
  }
}
