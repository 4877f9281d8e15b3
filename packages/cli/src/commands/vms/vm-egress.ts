// `skerry sandbox egress` and `skerry machine egress`: what it may reach, what it sent, and what was refused.

import type { EgressReport, EgressRequest } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, wholeNumber } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";
import { showDenials, showEgressRules, showInjections } from "./egress-tables.ts";
import { addInjectFlag } from "./inject-flag.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "./egress-flags.ts";

interface Flags extends EgressFlags {
  readonly ifVersion?: number;
  readonly json?: boolean;
}

export function registerVmEgress(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example, calls, target } = vm;
  const command = parent
    .command("egress")
    .description(
      `Show what a ${noun} may reach, its traffic and the last denied destinations. With --egress flags, replace its rules as a whole first.`,
    )
    .argument("<id>", idArgument(vm));
  addInjectFlag(addEgressFlags(command))
    .option(
      "--if-version <version>",
      "replace them only where they still have this version",
      (text: string) => wholeNumber(text, VERSION_MAX),
    )
    .option("--json", "print JSON")
    .action(async (text: string, flags: Flags, self: Command) => {
      const request = changeRequest(flags);
      const client = await cli.client(self);
      const vms = calls(client);
      const options = { signal: cli.signal };
      const report = await onTarget(target(client, cli.signal, "egress"), text, (id) =>
        request === undefined
          ? vms.egress(id, options)
          : vms.setEgress(id, request, { ...options, ifVersion: flags.ifVersion }),
      );
      if (flags.json === true) return cli.output.json(report);
      await showReport(cli, report);
    });
  addExamples(
    command,
    `skerry ${noun} egress ${example}`,
    `skerry ${noun} egress ${example} --egress-mode deny_all`,
    `skerry ${noun} egress ${example} --egress-allow-cidr 203.0.113.0/24 --egress-allow-port 443 --egress-dns`,
    `skerry ${noun} egress ${example} --egress-allow-domain api.example.com --egress-inject 'api.example.com Authorization: Bearer {API_KEY}'`,
    `skerry ${noun} egress ${example} --egress-mode deny_all --if-version 2`,
    `skerry ${noun} egress ${example} --json | jq '.denied[] | {address, port, rule}'`,
  );
}

/** Of what PostgreSQL counts with. */
const VERSION_MAX = 2 ** 31 - 1;

/** Flags replace the whole policy: one that only names an exception must not open a closed sandbox by leaving out the mode. */
function changeRequest(flags: Flags): EgressRequest | undefined {
  const request = egressRequest(flags);
  if (request === undefined && flags.ifVersion !== undefined)
    throw new CliError(
      "invalid_input",
      "--if-version says which rules are replaced, and no flag says by what.",
      {
        remediation: "Add --egress flags, or leave it out.",
        exitCode: exitCodes.usage,
      },
    );
  if (request === undefined || request.mode !== undefined) return request;
  throw new CliError("invalid_input", "The rules are replaced as a whole, and these flags name no mode.", {
    remediation:
      "Add --egress-mode allow_all, --egress-mode deny_all, --egress-allow-cidr or --egress-allow-domain.",
    exitCode: exitCodes.usage,
  });
}

async function showReport({ output }: Cli, report: EgressReport): Promise<void> {
  const { version, counters, denied, injected } = report;
  // An older server tells no version.
  await showEgressRules(output, report, [["version", String(version ?? "")]]);
  await output.line("");
  await output.table(
    ["TRAFFIC", "BYTES", "PACKETS"],
    [
      ["out", String(counters.bytes_out), String(counters.packets_out)],
      ["in", String(counters.bytes_in), String(counters.packets_in)],
    ],
  );
  await showInjections(output, injected);
  await output.line("");
  await showDenials(output, denied);
}
