// What `skerry host` does to the machine that it is typed on.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError, exitCodes } from "../errors/errors.ts";
import { addExamples } from "../input/options.ts";

export function registerHostMachineCommands(host: Command, cli: Cli): void {
  registerJoin(host, cli);
  registerRecoverDisk(host, cli);
}

interface JoinOptions {
  readonly control?: string;
  readonly token?: string;
  readonly name?: string;
  readonly address?: string;
}

function registerJoin(host: Command, cli: Cli): void {
  const command = host
    .command("join")
    .description("Make this machine a host of a control plane elsewhere. Needs root.")
    .option("--control <url>", "address of the control plane's API; required")
    .option("--name <name>", "what to call the host (default: the machine's name)")
    .option("--address <host:port>", "where control reaches it (default: this machine's address, port 7071)")
    .addHelpText("after", "\n--token takes the token of `skerry host token`.")
    .action(async (_flags: object, self: Command) => {
      const { control, token, name, address } = self.optsWithGlobals<JoinOptions>();
      // Not with `requiredOption`, which complains before a misspelt flag is named.
      if (control === undefined)
        throw new CliError("invalid_input", "--control is missing.", {
          remediation:
            "Give the address of the control plane's API, such as https://skerry.example.org:7443.",
          exitCode: exitCodes.usage,
        });
      const { joinCluster } = await import("./join.ts");
      const { ownLayout } = await import("./system/layout.ts");
      const joined = await joinCluster(ownLayout(), {
        ...{ control, token: token ?? "" },
        ...(name === undefined ? {} : { name }),
        ...(address === undefined ? {} : { address }),
      });
      await cli.output.line(joined.host_id);
      await cli.output.note(`This machine is the host "${joined.name}" of ${control}.`);
    });
  addExamples(command, "skerry host join --control https://skerry.example.org:7443 --token jtk_01jd3...");
}

function registerRecoverDisk(host: Command, cli: Cli): void {
  const command = host
    .command("recover-disk")
    .description(
      "On the host's machine: write the damaged record of a machine anew, so that it starts from its disk. Needs root.",
    )
    .argument("<id>", "id of the machine, mch_...; `skerry doctor` lists those that need it")
    .action(async (id: string) => {
      const { recoverDisk } = await import("./recover-disk.ts");
      const { ownLayout } = await import("./system/layout.ts");
      const { reason } = await recoverDisk(ownLayout(), id);
      await cli.output.line(`${id} ${reason ?? "needs no recovery"}`);
      await cli.output.note(`Start it with: skerry machine start ${id}`);
    });
  addExamples(command, "skerry host recover-disk mch_01jd3...");
}
