// `skerry machine list`, `show`, `start`, `stop`, `restart` and `destroy`.

import { machineStatuses, type MachineStatus } from "@skerry/contract/machines/machine-status";
import { setTimeout } from "node:timers/promises";
import type { Machine, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { addDeedCommand, addEachCommand } from "../resources/resource-commands.ts";
import { describedFields } from "../vms/vm-fields.ts";
import {
  addVmListFlags,
  forEach,
  listed,
  showRest,
  statusText,
  type Listed,
  type ListFlags,
} from "../vms/vm-list.ts";
import { listOrWatch } from "../../watched-list.ts";
import { idArgument, machineNoun } from "../vms/vm-noun.ts";

export function registerMachineLife(machine: Command, cli: Cli): void {
  registerList(machine, cli);
  registerShow(machine, cli);
  for (const power of powerCommands) {
    const command = registerPowerCommand(machine, cli, power);
    if (power.verb !== "start") continue;
    command.option(
      "--new-disk",
      "start with a new disk of the template, also where its own is lost; what is on the old one is given up",
    );
    addExamples(command, "skerry machine start --new-disk mch_01jd3...");
  }
  registerDestroy(machine, cli);
}

function registerList(machine: Command, cli: Cli): void {
  const list = machine.command("list").description("List the machines that are alive, newest first.");
  addVmListFlags(list, machineStatuses)
    .option("--crash-loop", "only those that their policy starts again and again")
    .option("--unhealthy", "only those that run and whose health check fails");
  list.action(async (flags: ListFlags<MachineStatus>, self: Command) => {
    const client = await cli.client(self);
    const list = async () => {
      const page = await listed<Machine, MachineStatus>(client.machines, flags, cli.signal);
      return { json: page, show: () => showMachines(cli, page) };
    };
    await listOrWatch(cli, { client, flags, kinds: ["machine"], list });
  });
  addExamples(
    list,
    "skerry machine list --status failed",
    "skerry machine list --crash-loop",
    "skerry machine list --metadata service=mail --all --json | jq -r '.items[].id'",
  );
}

async function showMachines(cli: Cli, page: Listed<Machine>): Promise<void> {
  await cli.output.table(
    ["ID", "NAME", "TEMPLATE", "SIZE", "STATUS", "CREATED", "RESTARTS", "WHY"],
    page.items.map((item) => [
      item.id,
      item.name ?? "-",
      item.template,
      item.size,
      statusText(item),
      relativeTime(item.created_at),
      String(item.restarts),
      whyText(item),
    ]),
    { whole: [4, 5, 6], minor: [3, 2], spare: [5, 6], prose: [7] },
  );
  await showRest(cli, page);
}

function whyText({ waits_for: waits, health, reason }: Machine): string {
  const failing = health?.status === "failing" ? health.reason : null;
  return waits?.reason ?? failing ?? reason ?? "-";
}

function registerShow(machine: Command, cli: Cli): void {
  addDeedCommand(machine, cli, {
    name: "show",
    description: "Show a machine.",
    examples: [
      "skerry machine show mch_01jd3...",
      "skerry machine show mch_01jd3... --wait running",
      "skerry machine show mch_01jd3... --json | jq -r .reason",
    ],
    argument: ["<id>", idArgument(machineNoun)],
    target: (client, signal) => machineNoun.target(client, signal, "show"),
    act: ({ machines }, id, options) => machines.get(id, options),
    waits: {
      statuses: machineStatuses,
      wait: ({ machines }, id, until, options) => machines.wait(id, until, options),
    },
    print: (found) => cli.output.fields(describedFields(found)),
  });
}

interface PowerCommand {
  readonly verb: "start" | "stop" | "restart";
  readonly description: string;
  readonly doing: string;
}

const powerCommands: readonly PowerCommand[] = [
  {
    verb: "start",
    description: "Start machines that do not run, from their own disks.",
    doing: "Starting",
  },
  {
    verb: "stop",
    description: "Stop machines: SIGTERM, then SIGKILL. Their disks are kept, and nothing starts them again.",
    doing: "Stopping",
  },
  {
    verb: "restart",
    description: "Stop machines and start them again; those that do not run are started.",
    doing: "Restarting",
  },
];

interface PowerFlags {
  readonly json?: boolean;
  readonly newDisk?: boolean;
}

function registerPowerCommand(
  machine: Command,
  cli: Cli,
  { verb, description, doing }: PowerCommand,
): Command {
  const command = machine
    .command(verb)
    .description(description)
    .argument("<id...>", "ids of machines, beginnings of them, or names")
    .option("--json", "print the machines as JSON")
    .action(async (texts: readonly string[], flags: PowerFlags, self: Command) => {
      const client = await cli.client(self);
      const target = machineNoun.target(client, cli.signal);
      const options = { signal: cli.signal, ...(flags.newDisk === true ? { newDisk: true } : {}) };
      await forEach(cli, texts, async (text) => {
        const found = await onTarget(target, text, (id) =>
          cli.waits.during(`${doing} ${text}`, async () => {
            const answered = await client.machines[verb](id, options);
            return verb === "stop" ? untilStopped(client, answered, cli.signal) : answered;
          }),
        );
        if (flags.json === true) return cli.output.json(found);
        await cli.output.line(`${found.id} ${found.status}`);
        if (verb === "stop" && isOnItsWay(found))
          await cli.output.note(`${found.id} is still ${found.status}. It stops as soon as it can.`);
      });
    });
  addExamples(
    command,
    `skerry machine ${verb} mch_01jd3...`,
    `skerry machine list --json | jq -r '.items[].id' | xargs skerry machine ${verb}`,
  );
  return command;
}

/** A machine that was starting is stopped when it runs. */
const STOPPED_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 500;

async function untilStopped(client: Skerry, stopping: Machine, signal: AbortSignal): Promise<Machine> {
  const giveUpMs = performance.now() + STOPPED_WITHIN_MS;
  let machine = stopping;
  while (isOnItsWay(machine) && performance.now() < giveUpMs) {
    await setTimeout(LOOK_EVERY_MS, undefined, { signal });
    machine = await client.machines.get(machine.id, { signal });
  }
  return machine;
}

/** It is to be stopped, and is not yet. Where it was started again meanwhile, there is nothing to wait for. */
function isOnItsWay({ desired, status }: Machine): boolean {
  return desired === "stopped" && ["creating", "starting", "running", "stopping"].includes(status);
}

function registerDestroy(machine: Command, cli: Cli): void {
  addEachCommand(machine, cli, {
    name: "destroy",
    description: "Destroy machines and their disks, in any status.",
    examples: ["skerry machine destroy mch_01jd3... mch_01jd4..."],
    argument: ["<id...>", "ids of machines, beginnings of them, or names"],
    target: (client, signal) => machineNoun.target(client, signal),
    act: async ({ machines }, id, options) => {
      await machines.destroy(id, options);
      return `${id} destroyed`;
    },
  });
}
