// What can stand where a command takes something that the server knows, by the command's group and the name of its argument, or by the flag.

import { auditActions } from "@skerry/contract/audit/audit-actions";
import type { Skerry } from "@skerry/sdk";
import { calls } from "../generated/calls.ts";
import { organizationTarget, type Named } from "../targets.ts";
import { hostTarget } from "./hosts/host-target.ts";
import { here, memberTarget, tokenTarget } from "./organizations/organization-targets.ts";
import { machineNoun, sandboxNoun } from "./vms/vm-noun.ts";

/** Reads from the server, or knows already, what can stand there. */
export type Values = (client: Skerry, signal: AbortSignal) => AsyncIterable<string> | Iterable<string>;

const sandboxes: Values = (client, signal) => idsAndNames(sandboxNoun.target(client, signal).list());
const machines: Values = (client, signal) => idsAndNames(machineNoun.target(client, signal).list());
const organizations: Values = (client, signal) => idsAndNames(organizationTarget(client, signal).list());
const tokens: Values = (client, signal) => idsAndNames(tokenTarget(client, signal).list());
const hosts: Values = (client, signal) => idsAndNames(hostTarget(client.hosts, signal).list());
const members: Values = async function* (client, signal) {
  yield* idsAndNames(memberTarget(client, await here(client, signal), signal).list());
};
const templates: Values = async function* ({ templates: all }, signal) {
  for (const { name } of await all.list({ signal })) yield* safe(name);
};
const builds: Values = async function* ({ builds: all }, signal) {
  for await (const { id } of all.list({}, { signal })) yield* safe(id);
};
const runs: Values = async function* ({ executions }, signal) {
  for await (const { id } of executions.list({ signal })) yield* safe(id);
};
const sizes: Values = async function* ({ sizes: all }, signal) {
  for (const { name } of await all.list({ signal })) yield* safe(name);
};
/** `ID:`, to which a path in it is added. */
const places: Values = async function* (client, signal) {
  for (const values of [sandboxes, machines])
    for await (const value of values(client, signal)) yield `${value}:`;
};

/** By `GROUP ARGUMENT`; at the top of the program the group is the command itself. */
const ofArguments: Readonly<Record<string, Values>> = {
  "sandbox id": sandboxes,
  "machine id": machines,
  "logs id": machines,
  "runs id": runs,
  "org id": organizations,
  "org user": members,
  "set-private-cidrs org": organizations,
  "token id": tokens,
  "host id": hosts,
  "template name": templates,
  "build id": builds,
  "sandbox template": templates,
  "machine template": templates,
  "api call": () => Object.keys(calls),
  "cp source": places,
  "cp target": places,
};

const ofOptions: Readonly<Record<string, Values>> = {
  "--org": organizations,
  "--template": templates,
  "--size": sizes,
  "--user": members,
  "--token-id": tokens,
  "--action": () => auditActions,
};

export function argumentValues(group: string, argument: string): Values | undefined {
  const key = `${group} ${argument}`;
  return Object.hasOwn(ofArguments, key) ? ofArguments[key] : undefined;
}

export function optionValues(flag: string): Values | undefined {
  return Object.hasOwn(ofOptions, flag) ? ofOptions[flag] : undefined;
}

async function* idsAndNames(items: AsyncIterable<Named>): AsyncGenerator<string> {
  for await (const { id, name } of items) {
    yield* safe(id);
    if (name !== null) yield* safe(name);
  }
}

/** A name is put on the user's command line as it is, so it may hold nothing that a shell obeys. */
const SAFE = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u;

function safe(text: string): readonly string[] {
  return SAFE.test(text) ? [text] : [];
}
