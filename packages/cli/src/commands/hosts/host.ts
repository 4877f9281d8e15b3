// `skerry host`: the machines that VMs run on, for the operator.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../options.ts";
import { CliError, exitCodes } from "../../errors.ts";
import { onTarget } from "../../targets.ts";
import { HOST_ARGUMENT, hostTarget } from "./host-target.ts";
import { registerAuthorityCommands } from "./authority.ts";
import { registerHostViewCommands } from "./host-view.ts";

export function registerHostCommands(program: Command, cli: Cli): void {
  const host = program.command("host").description("Machines that VMs run on, for the operator.");
  registerHostViewCommands(host, cli);
  registerToken(host, cli);
  registerJoin(host, cli);
  registerRemove(host, cli);
  registerAuthorityCommands(host, cli);
  registerRecoverDisk(host, cli);
}

function registerToken(host: Command, cli: Cli): void {
  const command = host
    .command("token")
    .description("Make a token by which one machine becomes a host within the next hour.")
    .option("--json", "print the whole answer as JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const created = await client.hosts.createJoinToken({ signal: cli.signal });
      if (flags.json === true) return cli.output.json(created);
      await cli.output.line(created.token);
      await cli.output.note(`For one host, until ${created.expires_at}; it is not shown again.`);
    });
  addExamples(command, "skerry host token");
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
      const { joinCluster } = await import("../../local/join.ts");
      const { ownLayout } = await import("../../local/system/layout.ts");
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
      const { recoverDisk } = await import("../../local/recover-disk.ts");
      const { ownLayout } = await import("../../local/system/layout.ts");
      const { reason } = await recoverDisk(ownLayout(), id);
      await cli.output.line(`${id} ${reason ?? "needs no recovery"}`);
      await cli.output.note(`Start it with: skerry machine start ${id}`);
    });
  addExamples(command, "skerry host recover-disk mch_01jd3...");
}

function registerRemove(host: Command, cli: Cli): void {
  const command = host
    .command("remove")
    .description("End a host's membership: it is trusted no more. Drain it first to lose nothing.")
    .argument("<id>", HOST_ARGUMENT)
    .option("--force", "also with sandboxes and machines on it, which are lost")
    .action(async (text: string, flags: { readonly force?: boolean }, self: Command) => {
      const { hosts } = await cli.client(self);
      await onTarget(hostTarget(hosts, cli.signal), text, (id) =>
        hosts.remove(id, { force: flags.force === true }, { signal: cli.signal }),
      );
      await cli.output.note(`${text} is removed. On its machine, \`skerry down\` stops it.`);
    });
  addExamples(command, "skerry host remove hst_01jd3...");
}
