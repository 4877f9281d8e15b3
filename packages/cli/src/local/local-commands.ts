// The commands that run Skerry on this machine.

import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { otherServer, showServerStatus } from "../commands/server-status.ts";
import type { Amount } from "./doctor/examine-host.ts";
import { ownLayout } from "./system/layout.ts";
import { registerBackupCommands } from "./backup/backup-commands.ts";
import { addExamples } from "../input/options.ts";
import { registerInstallCommands } from "./install/install-commands.ts";
import { registerKeyCommands } from "./key-commands.ts";

export function registerLocalCommands(program: Command, cli: Cli): void {
  program.commandsGroup("Skerry on this machine:");
  program
    .command("up")
    .description("Start Skerry on this machine: PostgreSQL, host and control, in the background.")
    .addHelpText(
      "after",
      "\nThe first start fetches a kernel and builds the base template. Settings: SKERRY_STATE, SKERRY_LISTEN, SKERRY_DATABASE_URL.\n\nThe token is saved in ~/.config/skerry/config.json. If that file is for another server it is kept, and the token is saved in local.json beside it.",
    )
    .action(async () => {
      const { up } = await import("./up.ts");
      await up(ownLayout());
    });
  program
    .command("down")
    .description("Stop Skerry on this machine and destroy its VMs.")
    .option("--keep-vms", "leave the VMs running; the next `skerry up` takes them over")
    .action(async (options: { keepVms?: boolean }) => {
      const { down } = await import("./up.ts");
      await down(ownLayout(), options.keepVms === true);
    });
  program
    .command("status")
    .description(
      "Show what runs on this machine; with --api-url or SKERRY_API_URL of another server, what that one has.",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }, self: Command) => {
      const layout = ownLayout();
      if (otherServer(self, layout.apiUrl) !== undefined) return showServerStatus(cli, options, self);
      const { status } = await import("./status.ts");
      const { rows, running } = await status(layout);
      if (options.json === true) await cli.output.json(rows);
      else
        await cli.output.table(
          ["", "STATE", "DETAIL"],
          rows.map((row) => [row.what, row.state, row.detail]),
          { prose: [2] },
        );
      cli.exitCode = running ? 0 : 1;
    });
  program
    .command("doctor")
    .description("Check whether this machine has what a host needs, and say what to do.")
    .option("--json", "print JSON")
    .option("--thorough", "also try guests on a host of its own, for some minutes, and write two files")
    .addOption(
      new Option("--amount <amount>", "with --thorough: how much is tried")
        .choices(["quick", "full", "long"])
        .default("full"),
    )
    .option("--output <folder>", "with --thorough: where the files go", ".")
    .addHelpText(
      "after",
      "\n--thorough takes about 3 minutes, 13 with --amount long, and 1 with quick, which judges nothing. It writes skerry-doctor.json and\nskerry-doctor.txt, which hold no token, name or address and can be sent to others; a second run compares itself with the first,\nbest after a reboot. VMs that run go on.\n\nExamples:\n  $ skerry doctor\n  $ sudo skerry doctor --thorough --output /tmp",
    )
    .action((options: DoctorOptions) => doctorCommand(cli, options));
  registerOperatorCommands(program, cli);
  registerBackupCommands(program);
  registerKeyCommands(program, cli);
  registerInstallCommands(program);
  program.command("supervise", { hidden: true }).action(async () => {
    const { supervise } = await import("./servers/supervise.ts");
    await supervise(ownLayout());
  });
}

interface DoctorOptions {
  readonly json?: boolean;
  readonly thorough?: boolean;
  readonly amount: Amount;
  readonly output: string;
}

async function doctorCommand(cli: Cli, options: DoctorOptions): Promise<void> {
  if (options.thorough === true) return thoroughCommand(cli, options);
  const { doctor, exitCodeOf } = await import("./doctor/doctor.ts");
  const findings = await doctor(ownLayout());
  if (options.json === true) await cli.output.json(findings);
  else
    await cli.output.table(
      ["CHECK", "VERDICT", "FOUND", "REMEDY"],
      findings.map((one) => [one.check, one.verdict, one.found, one.remedy]),
      { prose: [2, 3] },
    );
  cli.exitCode = exitCodeOf(findings);
}

async function thoroughCommand(cli: Cli, { json, amount, output }: DoctorOptions): Promise<void> {
  const { thorough } = await import("./doctor/thorough.ts");
  const { report, files, exitCode } = await thorough(ownLayout(), {
    ...{ amount, folder: output, signal: cli.signal },
    say: (line) => void cli.output.note(line),
  });
  if (json === true) await cli.output.json(report);
  else for (const file of files) await cli.output.line(file);
  cli.exitCode = exitCode;
}

/** They change organizations past the API, which only the operator of the control plane can. */
function registerOperatorCommands(program: Command, cli: Cli): void {
  const token = program
    .command("admin-token")
    .description("As root, make and print another token of the operator, where the saved one is lost.")
    .option("--name <name>", "what the token is for", "skerry admin-token")
    .action(async (flags: { readonly name: string }) => {
      const { adminToken } = await import("./admin-token.ts");
      await cli.output.line(await adminToken(ownLayout(), flags.name));
      await cli.output.note(
        "It is shown this once. The lost one goes on to work until it is revoked: `skerry auth token list` shows it.",
      );
    });
  addExamples(token, "sudo skerry admin-token", "sudo skerry admin-token | skerry login");
  program
    .command("set-private-cidrs")
    .description("As the operator, say which private networks one organization may reach.")
    .argument(
      "[org]",
      "id of the organization, the beginning of it, or its name (default: shows the grants of all)",
    )
    .argument("[cidrs...]", 'all that it is granted from now on, or "none" (default: shows its grants)')
    .addHelpText(
      "after",
      "\nSandboxes and machines that run are told at once, and lose what is no longer granted.\n\nExamples:\n  $ skerry set-private-cidrs org_01jd3... 10.20.0.0/16 192.168.7.10/32\n  $ skerry set-private-cidrs org_01jd3... none\n  $ skerry set-private-cidrs",
    )
    .option("--json", "print JSON")
    .action(async (org: string | undefined, cidrs: readonly string[], flags: { readonly json?: boolean }) => {
      const { changePrivateCidrs, showGrants } = await import("./private-cidrs.ts");
      const granted = await changePrivateCidrs(ownLayout(), org, cidrs);
      await (flags.json === true ? cli.output.json(granted) : showGrants(cli.output, granted));
    });
}
