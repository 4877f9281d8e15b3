// `skerry org members`, `add-member`, `set-role` and `remove-member`: of the organization that the command works in.

import { roles } from "@skerry/contract/organizations/roles";
import type { Member, MemberAdded, Role } from "@skerry/sdk";
import { Argument, Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { dashboardOf } from "../../config.ts";
import { addExamples, given } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addListCommand } from "../resources/resource-commands.ts";
import { idKinds } from "@skerry/contract/ids";
import { idMeant, onTarget } from "../../targets.ts";
import { here, knownUserTarget, MEMBER_ARGUMENT, memberTarget } from "./organization-targets.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerMemberCommands(org: Command, cli: Cli): void {
  registerMembers(org, cli);
  registerAdd(org, cli);
  registerSetRole(org, cli);
  registerRemove(org, cli);
}

const USER_PREFIX = `${idKinds.user}_`;

function registerMembers(org: Command, cli: Cli): void {
  addListCommand<Member>(org, cli, {
    name: "members",
    description: "List the members.",
    examples: ["skerry org members", "skerry org members --org org_01jd3... --json"],
    read: async function* (client, _query, options) {
      yield* client.organizations.members(await here(client, cli.signal), options);
    },
    columns: [
      ["USER", (one) => one.user_id],
      ["NAME", ({ name }) => name],
      ["EMAIL", ({ email }) => email ?? "-"],
      ["ROLE", ({ role }) => role],
      ["SINCE", (one) => one.created_at],
    ],
  });
}

interface AddFlags extends JsonFlag {
  readonly role: Role;
  readonly email?: string;
  readonly expiresIn?: string;
  readonly link?: boolean;
}

/** A server of a version before makes tokens that last. */
function untilText({ token: { expires_at } }: MemberAdded): string {
  return expires_at === null ? "" : `, and ends ${relativeTime(expires_at)} where it is not used`;
}

function registerAdd(org: Command, cli: Cli): void {
  const command = org
    .command("add-member")
    .description("Add a member, and print a first token to hand over, which is shown this once.")
    .argument("<who>", "name of a new user; or of a known one the id, usr_..., or the beginning of it")
    .addOption(new Option("--role <role>", "what the member may do").choices(roles).default("member"))
    .option("--email <address>", "of a new user; nothing is sent there")
    .option("--expires-in <duration>", "when the token ends where it is not used (default: 168h, a week)")
    .option("--link", "print an address that logs a browser in with the token; opening it uses nothing up")
    .option("--json", "print the whole answer as JSON")
    .action(async (who: string, { role, email, expiresIn, link, json }: AddFlags, self: Command) => {
      const client = await cli.client(self);
      const person = who.startsWith(USER_PREFIX)
        ? { user_id: await idMeant(knownUserTarget(client, cli.signal), who) }
        : { name: who };
      const added = await client.organizations.addMember(
        await here(client, cli.signal),
        { ...person, ...given({ email, expires_in: expiresIn }), role },
        { signal: cli.signal },
      );
      if (json === true) return cli.output.json(added);
      const { token } = added.token;
      await cli.output.line(link === true ? `${dashboardOf(cli.settings(self))}login#token=${token}` : token);
      const what =
        link === true
          ? "The address logs a browser in, once it is asked to"
          : 'The token is for "skerry login"';
      await cli.output.note(`${added.user_id} (${added.name}), ${role}. ${what}${untilText(added)}.`);
    });
  addExamples(
    command,
    "skerry org add-member Ada --role admin --email ada@example.org",
    "skerry org add-member Ada --link",
    "skerry org add-member usr_01jd3... --role viewer --org org_01jd4...",
  );
}

function registerSetRole(org: Command, cli: Cli): void {
  const command = org
    .command("set-role")
    .description("Change what a member may do.")
    .argument("<user>", MEMBER_ARGUMENT)
    .addArgument(new Argument("<role>", "what the member may do").choices(roles))
    .option("--json", "print JSON")
    .action(async (text: string, role: Role, flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const own = await here(client, cli.signal);
      const member = await onTarget(memberTarget(client, own, cli.signal), text, (userId) =>
        client.organizations.updateMember(own, userId, { role }, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(member);
      await cli.output.note(`${member.user_id} (${member.name}), ${member.role}.`);
    });
  addExamples(command, "skerry org set-role usr_01jd3... viewer");
}

function registerRemove(org: Command, cli: Cli): void {
  const command = org
    .command("remove-member")
    .description("Remove a member; the member's tokens here end at once.")
    .argument("<user>", MEMBER_ARGUMENT)
    .action(async (text: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const own = await here(client, cli.signal);
      await onTarget(memberTarget(client, own, cli.signal), text, async (userId) => {
        await client.organizations.removeMember(own, userId, { signal: cli.signal });
        await cli.output.note(`${userId} is removed.`);
      });
    });
  addExamples(command, "skerry org remove-member usr_01jd3...");
}
