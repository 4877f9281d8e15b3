// `skerry host list`, `show`, `drain` and `activate`: how the hosts are, and what the operator wants of them.

import { hostStatuses } from "@skerry/contract/hosts/host-status";
import type { Host, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addDeedCommand, addListCommand } from "../resources/resource-commands.ts";
import { HOST_ARGUMENT, hostTarget } from "./host-target.ts";

export function registerHostViewCommands(host: Command, cli: Cli): void {
  registerList(host, cli);
  const one = {
    argument: ["<id>", HOST_ARGUMENT],
    target: ({ hosts }: Skerry, signal: AbortSignal) => hostTarget(hosts, signal),
  } as const;
  const note = (shown: Host) => {
    const text = `${shown.name} is ${shown.status}.`;
    return cli.output.note(shown.waits_for === null ? text : `${text} It waits: ${shown.waits_for}`);
  };
  addDeedCommand(host, cli, {
    ...one,
    name: "show",
    description: "Show one host: how it is, what it has, and what is taken of it.",
    examples: ["skerry host show hst_01jd3...", "skerry host show hst_01jd3... --json | jq .usage"],
    act: ({ hosts }, id, options) => hosts.get(id, options),
    waits: {
      statuses: hostStatuses,
      wait: ({ hosts }, id, until, options) => hosts.wait(id, until, options),
    },
    print: (shown) => cli.output.fields(fieldsOf(shown)),
  });
  addDeedCommand(host, cli, {
    ...one,
    name: "drain",
    description:
      "Give a host no new VMs, and move those that it has to others, with paused sandboxes and snapshots. Answers at once; `show` tells how far it is.",
    examples: ["skerry host drain hst_01jd3..."],
    act: ({ hosts }, id, options) => hosts.drain(id, options),
    print: note,
  });
  addDeedCommand(host, cli, {
    ...one,
    name: "activate",
    description: "Let a host have VMs again: cancels a drain, ends maintenance.",
    examples: ["skerry host activate hst_01jd3..."],
    act: ({ hosts }, id, options) => hosts.activate(id, options),
    print: note,
  });
}

function registerList(host: Command, cli: Cli): void {
  addListCommand<Host>(host, cli, {
    description: "List the hosts, newest first.",
    examples: [
      "skerry host list",
      "skerry host list --watch",
      "skerry host list --json | jq -r '.items[].id'",
    ],
    read: ({ hosts }, _query, options) => hosts.list(options),
    columns: [
      ["ID", ({ id }) => id],
      ["NAME", ({ name }) => name],
      ["STATUS", ({ status }) => status],
      ["VMS", ({ used }) => String(used.vms)],
      ["VCPUS", ({ used, capacity }) => `${used.vcpus} of ${capacity.vcpus}`],
      ["MEMORY MIB", ({ used, capacity }) => `${used.memory_mib} of ${capacity.memory_mib}`],
      ["HEARTBEAT", (one) => `${Math.round(one.heartbeat_age_s)} s ago`],
    ],
    layout: { whole: [2, 4, 5, 6], minor: [3, 4] },
    watched: ["host", "move"],
  });
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
