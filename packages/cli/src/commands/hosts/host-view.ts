// `skerry host list`, `show`, `drain` and `activate`: how the hosts are, and what the operator wants of them.

import type { Host } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { addWatchFlag, listOrWatch, type WatchFlags } from "../../watched-list.ts";
import { HOST_ARGUMENT, hostTarget } from "./host-target.ts";

interface Flags {
  readonly json?: boolean;
}

export function registerHostViewCommands(host: Command, cli: Cli): void {
  registerList(host, cli);
  registerShow(host, cli);
  const drain = oneHost(host, "drain")
    .description(
      "Give a host no new VMs, and move those that it has to others, with paused sandboxes and snapshots. Answers at once; `show` tells how far it is.",
    )
    .action(async (text: string, flags: Flags, self: Command) => {
      const { hosts } = await cli.client(self);
      const drained = await onTarget(hostTarget(hosts, cli.signal), text, (id) =>
        hosts.drain(id, { signal: cli.signal }),
      );
      await print(cli, flags, drained, `${drained.name} is ${drained.status}.`);
    });
  addExamples(drain, "skerry host drain hst_01jd3...");
  const activate = oneHost(host, "activate")
    .description("Let a host have VMs again: cancels a drain, ends maintenance.")
    .action(async (text: string, flags: Flags, self: Command) => {
      const { hosts } = await cli.client(self);
      const active = await onTarget(hostTarget(hosts, cli.signal), text, (id) =>
        hosts.activate(id, { signal: cli.signal }),
      );
      await print(cli, flags, active, `${active.name} is ${active.status}.`);
    });
  addExamples(activate, "skerry host activate hst_01jd3...");
}

function registerList(host: Command, cli: Cli): void {
  const command = addWatchFlag(host.command("list").description("List the hosts, newest first."))
    .option("--json", "print JSON")
    .action(async (flags: Flags & WatchFlags, self: Command) => {
      const client = await cli.client(self);
      const list = async () => {
        const items: Host[] = [];
        for await (const item of client.hosts.list({ signal: cli.signal })) items.push(item);
        return { json: { items, next_cursor: null }, show: () => showHosts(cli, items) };
      };
      await listOrWatch(cli, { client, flags, kinds: ["host", "move"], list });
    });
  addExamples(
    command,
    "skerry host list",
    "skerry host list --watch",
    "skerry host list --json | jq -r '.items[].id'",
  );
}

function showHosts(cli: Cli, items: readonly Host[]): Promise<void> {
  return cli.output.table(
    ["ID", "NAME", "STATUS", "VMS", "VCPUS", "MEMORY MIB", "HEARTBEAT"],
    items.map(({ id, name, status, used, capacity, heartbeat_age_s }) => [
      id,
      name,
      status,
      String(used.vms),
      `${used.vcpus} of ${capacity.vcpus}`,
      `${used.memory_mib} of ${capacity.memory_mib}`,
      `${Math.round(heartbeat_age_s)} s ago`,
    ]),
    { whole: [2, 4, 5, 6], minor: [3, 4] },
  );
}

function registerShow(host: Command, cli: Cli): void {
  const command = oneHost(host, "show")
    .description("Show one host: how it is, what it has, and what is taken of it.")
    .action(async (text: string, flags: Flags, self: Command) => {
      const { hosts } = await cli.client(self);
      const shown = await onTarget(hostTarget(hosts, cli.signal), text, (id) =>
        hosts.get(id, { signal: cli.signal }),
      );
      if (flags.json === true) return cli.output.json(shown);
      await cli.output.fields(fieldsOf(shown));
    });
  addExamples(command, "skerry host show hst_01jd3...", "skerry host show hst_01jd3... --json | jq .usage");
}

function oneHost(host: Command, verb: string): Command {
  return host.command(verb).argument("<id>", HOST_ARGUMENT).option("--json", "print JSON");
}

async function print(cli: Cli, { json }: Flags, host: Host, text: string): Promise<void> {
  if (json === true) return cli.output.json(host);
  await cli.output.note(host.waits_for === null ? text : `${text} It waits: ${host.waits_for}`);
}

function fieldsOf(host: Host): (readonly [string, string])[] {
  const { capacity, used, versions } = host;
  return [
    ["id", host.id],
    ["name", host.name],
    ["status", `${host.status} since ${host.status_since}`],
    ["wanted", host.desired],
    ["waits for", host.waits_for ?? "nothing"],
    ["last heartbeat", `${host.last_heartbeat}, ${Math.round(host.heartbeat_age_s)} s ago`],
    ["VMs", String(used.vms)],
    ["vCPUs", `${used.vcpus} of ${capacity.vcpus}, on ${capacity.cpus} CPUs`],
    ["memory", `${used.memory_mib} of ${capacity.memory_mib} MiB`],
    ["accelerator", `${host.accelerator ?? "unknown"} (${host.accelerator_reason ?? "not heard of yet"})`],
    [
      "versions",
      `skerry ${versions.skerry ?? "?"}, QEMU ${versions.qemu ?? "?"}, Linux ${versions.kernel ?? "?"}`,
    ],
    ["templates", host.templates.map(({ name, status }) => `${name} (${status})`).join(", ")],
  ];
}
