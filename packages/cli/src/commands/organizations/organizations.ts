// `skerry org`: organizations, and which of them the next commands work in. Its members are in the file beside this one.

import { Option, type Command } from "commander";
import type { Organization } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { addDeedCommand, addListCommand } from "../resources/resource-commands.ts";
import { configPath } from "@skerry/sdk/saved-settings";
import { readSaved, writeConfig } from "../../config.ts";
import { CliError } from "../../errors/errors.ts";
import { addExamples, given } from "../../input/options.ts";
import { onTarget, organizationTarget } from "../../targets.ts";
import { ORGANIZATION_ARGUMENT } from "./organization-targets.ts";
import { registerLimitsCommand } from "./limits.ts";
import { registerMemberCommands } from "./members.ts";

interface JsonFlag {
  readonly json?: boolean;
}

type EgressMode = Organization["egress_default"];

const EGRESS_DEFAULT = "what its sandboxes reach that ask for nothing else";
const modes: readonly EgressMode[] = ["allow_all", "deny_all"];

export function registerOrganizationCommands(program: Command, cli: Cli): void {
  const org = program.command("org").description("Organizations, and who is in them.");
  addExamples(
    org,
    "skerry org list",
    "skerry org add-member Ada --role member",
    "skerry org use org_01jd3...",
  );
  registerList(org, cli);
  registerShow(org, cli);
  registerCreate(org, cli);
  registerUpdate(org, cli);
  registerUse(org, cli);
  registerDelete(org, cli);
  registerLimitsCommand(org, cli);
  registerMemberCommands(org, cli);
}

function registerList(org: Command, cli: Cli): void {
  addListCommand<Organization>(org, cli, {
    description: "List the organizations that you are a member of.",
    examples: ["skerry org list", "skerry org list --json | jq -r '.items[].id'"],
    read: ({ organizations }, _query, options) => organizations.list(options),
    columns: [
      ["ID", ({ id }) => id],
      ["NAME", ({ name }) => name],
      ["YOUR ROLE", ({ role }) => role],
      ["EGRESS", (one) => one.egress_default],
    ],
  });
}

function registerShow(org: Command, cli: Cli): void {
  const command = org
    .command("show")
    .description("Show an organization.")
    .argument("[id]", `${ORGANIZATION_ARGUMENT} (default: the one that you work in)`)
    .option("--json", "print JSON")
    .action(async (given: string | undefined, flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const text = given ?? (await client.me({ signal: cli.signal })).organization_id;
      const found = await onTarget(organizationTarget(client, cli.signal), text, (id) =>
        client.organizations.get(id, { signal: cli.signal }),
      );
      await show(cli, found, flags);
    });
  addExamples(command, "skerry org show", "skerry org show org_01jd3... --json");
}

function registerCreate(org: Command, cli: Cli): void {
  addDeedCommand(org, cli, {
    name: "create",
    description: "Create an organization, as the operator of the platform. You are its first owner.",
    examples: ['ORG=$(skerry org create "Example Ltd" --egress-default deny_all)'],
    argument: ["<name>", "for people; need not be unique"],
    operation: "createOrganization",
    argumentField: "name",
    act: ({ organizations }, name, options, fields) => organizations.create({ ...fields, name }, options),
    print: ({ id }) => cli.output.line(id),
  });
}

interface UpdateFlags extends JsonFlag {
  readonly name?: string;
  readonly egressDefault?: EgressMode;
  readonly auditDetails?: "on" | "off";
}

function registerUpdate(org: Command, cli: Cli): void {
  const command = org
    .command("update")
    .description("Change an organization; what is not given stays.")
    .argument("<id>", ORGANIZATION_ARGUMENT)
    .option("--name <name>", "its new name")
    .addOption(new Option("--egress-default <mode>", EGRESS_DEFAULT).choices(modes))
    .addOption(
      new Option(
        "--audit-details <on|off>",
        "whether the audit log keeps commands and paths of files",
      ).choices(["on", "off"]),
    )
    .option("--json", "print JSON")
    .action(async (text: string, flags: UpdateFlags, self: Command) => {
      const client = await cli.client(self);
      const request = given({
        name: flags.name,
        egress_default: flags.egressDefault,
        audit_details: flags.auditDetails === undefined ? undefined : flags.auditDetails === "on",
      });
      const updated = await onTarget(organizationTarget(client, cli.signal), text, (id) =>
        client.organizations.update(id, request, { signal: cli.signal }),
      );
      await show(cli, updated, flags);
    });
  addExamples(command, "skerry org update org_01jd3... --egress-default deny_all");
}

/** Only here: the server has no such choice, so nothing that another program runs moves to another organization. */
function registerUse(org: Command, cli: Cli): void {
  const command = org
    .command("use")
    .description("Choose the organization that commands with the saved token work in.")
    .argument("[id]", `${ORGANIZATION_ARGUMENT} (default: the token's own)`)
    .action(async (text: string | undefined, _flags: object, self: Command) => {
      const { organization: _before, ...saved } = readSaved();
      if (saved.token === undefined)
        throw new CliError("no_token", "No token is saved, so there is nothing to choose for.", {
          remediation: "Run `skerry auth login` first, or set SKERRY_ORG_ID beside SKERRY_API_TOKEN.",
        });
      if (text === undefined) return writeConfig(saved, configPath());
      // A choice that cannot work would only be found out by the next command.
      const client = await cli.client(self);
      const { id, name } = await onTarget(organizationTarget(client, cli.signal), text, (asked) =>
        client.organizations.get(asked, { signal: cli.signal }),
      );
      await cli.output.note(`Commands work in ${name} now.`);
      await writeConfig({ ...saved, organization: id }, configPath());
    });
  addExamples(command, "skerry org use org_01jd3...", "skerry org use");
}

function registerDelete(org: Command, cli: Cli): void {
  const command = org
    .command("delete")
    .description(
      "Delete an organization, as its owner or as the operator. Its sandboxes and machines must be destroyed before; its tokens end.",
    )
    .argument("<id>", ORGANIZATION_ARGUMENT)
    .action(async (text: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const id = await onTarget(organizationTarget(client, cli.signal), text, async (asked) => {
        await client.organizations.delete(asked, { signal: cli.signal });
        return asked;
      });
      const { organization, ...saved } = readSaved();
      // Commands would go on to look for it.
      if (organization === id && saved.token !== undefined) await writeConfig(saved, configPath());
      await cli.output.note(`${id} is deleted.`);
    });
  addExamples(command, "skerry org delete org_01jd3...");
}

async function show(cli: Cli, organization: Organization, flags: JsonFlag): Promise<void> {
  if (flags.json === true) return cli.output.json(organization);
  const { id, name, role, egress_default, allowed_private_cidrs, audit_details, created_at } = organization;
  await cli.output.fields([
    ["id", id],
    ["name", name],
    ["your role", role],
    ["egress default", egress_default],
    ["private networks", allowed_private_cidrs.join(", ") || "none"],
    ["audit details", audit_details ? "on" : "off"],
    ["created", created_at],
  ]);
}
