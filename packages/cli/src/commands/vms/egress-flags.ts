// The flags that say what a sandbox may reach: of `create`, and of `egress` for one that runs.

import type { EgressRequest, InjectRule } from "@skerry/sdk";
import { Option, type Command } from "commander";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { collectPort, collectText, given } from "../../input/options.ts";

export interface EgressFlags {
  readonly egressMode?: "allow_all" | "deny_all";
  readonly egressAllowCidr?: readonly string[];
  readonly egressDenyCidr?: readonly string[];
  readonly egressAllowPort?: readonly number[];
  readonly egressAllowDomain?: readonly string[];
  readonly egressDenyDomain?: readonly string[];
  readonly egressInject?: readonly InjectRule[];
  readonly egressDns?: boolean;
}

export function addEgressFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--egress-mode <mode>", "outbound firewall mode").choices(["allow_all", "deny_all"]),
    )
    .option("--egress-allow-cidr <cidr>", "allow outbound to it; implies deny_all; repeatable", collectText)
    .option("--egress-deny-cidr <cidr>", "deny outbound to it; repeatable", collectText)
    .option(
      "--egress-allow-port <port>",
      "only this TCP port of allowed CIDRs, and of addresses of allowed domains; repeatable",
      collectPort,
    )
    .option(
      "--egress-allow-domain <name>",
      "allow it, or *.NAME below it: HTTP and TLS by name, all else by its addresses; implies deny_all; repeatable",
      collectText,
    )
    .option("--egress-deny-domain <name>", "deny HTTP and TLS to it; repeatable", collectText)
    .option("--egress-dns", "names can be looked up (default: with allow_all and allowed domains)")
    .option("--no-egress-dns", "names cannot be looked up");
}

/** Undefined without a flag, so that the server's default holds. */
export function egressRequest(flags: EgressFlags): EgressRequest | undefined {
  const allowsOnly = allowsByList(flags);
  const egress = given({
    mode: flags.egressMode ?? (allowsOnly ? ("deny_all" as const) : undefined),
    allow_cidrs: flags.egressAllowCidr?.slice(),
    deny_cidrs: flags.egressDenyCidr?.slice(),
    allow_ports: flags.egressAllowPort?.slice(),
    allow_domains: flags.egressAllowDomain?.slice(),
    deny_domains: flags.egressDenyDomain?.slice(),
    inject: flags.egressInject?.slice(),
    dns: flags.egressDns,
  });
  return Object.keys(egress).length === 0 ? undefined : egress;
}

/** Whether a list says what is allowed, and so that nothing else is. Throws where the mode says otherwise. */
function allowsByList(flags: EgressFlags): boolean {
  const [list] = (["egressAllowCidr", "egressAllowDomain"] as const).filter(
    (flag) => flags[flag] !== undefined,
  );
  if (list !== undefined && flags.egressMode === "allow_all")
    throw new CliError(
      "invalid_input",
      `--egress-allow-${list === "egressAllowCidr" ? "cidr" : "domain"} means deny_all, and --egress-mode says allow_all.`,
      {
        remediation: "Leave one of them out.",
        exitCode: exitCodes.usage,
      },
    );
  return list !== undefined;
}
