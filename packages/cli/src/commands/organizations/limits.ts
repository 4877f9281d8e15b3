// `skerry org limits`: how much the organization may do and hold, and how much of it is taken; and the operator's exceptions for any one.

import { InvalidArgumentError, type Command } from "commander";
import { isLimitName, LIMIT_MAX, limitNames } from "@skerry/contract/limits/quotas";
import type { Limits, LimitsChangeRequest, OrganizationLimits } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget, organizationTarget } from "../../targets.ts";

interface LimitsFlags {
  readonly set?: LimitsChangeRequest;
  readonly json?: boolean;
}

export function registerLimitsCommand(org: Command, cli: Cli): void {
  const command = org
    .command("limits")
    .description(
      "Show how many requests each token may make (all together: twice as many), and what the organization may hold at once.",
    )
    .argument(
      "[id]",
      "as the operator: id of any organization, or the name of one of yours (default: the one that you work in)",
    )
    .option(
      "--set <name=value>",
      "as the operator: change a limit, or take it back with NAME=default; repeatable",
      collectChange,
    )
    .option("--json", "print JSON")
    .addHelpText("after", `\nLimits that --set takes, each a whole number: ${limitNames.join(", ")}.`)
    .action(async (text: string | undefined, { set, json }: LimitsFlags, self: Command) => {
      if (set !== undefined && text === undefined) {
        throw new CliError("invalid_input", "--set needs the organization.", {
          remediation: "Write skerry org limits ID --set NAME=VALUE; `skerry org list` shows ids.",
          exitCode: exitCodes.usage,
        });
      }
      const client = await cli.client(self);
      const options = { signal: cli.signal };
      if (text === undefined) return show(cli, await client.limits(options), json);
      const { organizations } = client;
      await show(
        cli,
        await onTarget(organizationTarget(client, cli.signal), text, (id) =>
          set === undefined ? organizations.limits(id, options) : organizations.setLimits(id, set, options),
        ),
        json,
      );
    });
  addExamples(
    command,
    "skerry org limits",
    "skerry org limits --json | jq .quotas.sandboxes",
    'skerry org limits "Example Ltd"',
    "skerry org limits org_01jd3... --set quota_sandboxes=500 --set rate_read_burst=default",
  );
}

async function show(cli: Cli, limits: Limits | OrganizationLimits, json: boolean | undefined): Promise<void> {
  if (json === true) return cli.output.json(limits);
  const set: Readonly<Record<string, number>> = "exceptions" in limits ? limits.exceptions : {};
  await cli.output.table(
    ["LIMIT", "USED", "AT MOST"],
    [
      ...Object.entries(limits.quotas).map(([name, { used, limit }]) => [
        name,
        amountText(name, used),
        noted(amountText(name, limit), `quota_${name}` in set),
      ]),
      ...Object.entries(limits.rates).map(([name, { per_minute, burst }]) => [
        `${name} requests of a token`,
        "",
        noted(
          `${per_minute} a minute, ${burst} at once`,
          `rate_${name}_per_minute` in set || `rate_${name}_burst` in set,
        ),
      ]),
    ],
    { whole: [2] },
  );
}

/** Memory and disk in GiB, less than one in MiB; the name says the unit that --set takes. */
function amountText(name: string, amount: number): string {
  if (name.endsWith("_mib"))
    return amount < 1_024 ? `${amount} MiB` : amountText("_gib", Number((amount / 1_024).toFixed(1)));
  return name.endsWith("_gib") ? `${amount} GiB` : String(amount);
}

function noted(text: string, isException: boolean): string {
  return isException ? `${text} (set for it)` : text;
}

/** Reads one `NAME=NUMBER` or `NAME=default` more. */
function collectChange(text: string, before: LimitsChangeRequest = {}): LimitsChangeRequest {
  const [, named = "", value = ""] = /^([a-z_]+)=(\d{1,10}|default)$/.exec(text) ?? [];
  // Tables show quotas without their beginning.
  const name = isLimitName(named) ? named : `quota_${named}`;
  if (!isLimitName(name) || Number(value) > LIMIT_MAX)
    throw new InvalidArgumentError(
      `It must be NAME=NUMBER or NAME=default, with one of these names: ${limitNames.join(", ")}.`,
    );
  return { ...before, [name]: value === "default" ? null : Number(value) };
}
