// `skerry machine create`.

import type { MachineCreateRequest } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addSecretFlag, type SecretFlags } from "../vms/secret-flags.ts";
import { addEnvFlags, envOf, type EnvFlags } from "../vms/env-flags.ts";
import { addExamples, collectPair, given } from "../../input/options.ts";
import { chosenTemplate, firstUseHint } from "../vms/default-template.ts";
import { createInterruptibly } from "../vms/interruptible-create.ts";
import { addInjectFlag } from "../vms/inject-flag.ts";
import { addEgressFlags, egressRequest, type EgressFlags } from "../vms/egress-flags.ts";
import { addCheckFlags, checkRequest, type CheckFlags } from "./check-flags.ts";
import { addPolicyFlags, policyRequest, type PolicyFlags } from "./policy-flags.ts";

interface CreateFlags extends EgressFlags, EnvFlags, SecretFlags, PolicyFlags, CheckFlags {
  readonly template?: string;
  readonly snapshot?: string;
  readonly name?: string;
  readonly size?: string;
  readonly metadata?: Record<string, string>;
  readonly command?: string;
  readonly json?: boolean;
}

export function registerMachineCreate(machine: Command, cli: Cli): void {
  const command = machine
    .command("create")
    .description("Create a machine, wait until it runs and print its id.")
    .argument("[template]", "the same as --template")
    .option("--template <name>", "name or id; see `skerry template list` (default: base, or the only one)")
    .option(
      "--snapshot <name>",
      "name or id of a snapshot of a machine to begin at, in the place of a template",
    )
    .option("--name <name>", "a name that commands take in the place of the id")
    .option("--size <name>", "CPUs and memory; see `skerry size list` (default: shared-cpu-1x)")
    .option("--metadata <KEY=VALUE>", "label of your own; repeatable", collectPair)
    .option("--command <line>", "shell command line of its main process, whose end is the machine's");
  addPolicyFlags(command, {
    restart: "on-failure",
    maxRetries: "10 with on-failure",
    restartDisk: "keep",
    stopTimeout: "10s",
  });
  addCheckFlags(command);
  addInjectFlag(addEgressFlags(addSecretFlag(addEnvFlags(command, "environment variable of its processes"))))
    .option("--json", "print the machine as JSON")
    .action((template: string | undefined, flags: CreateFlags, self: Command) =>
      createMachine(cli, { template, flags, self }),
    );
  addExamples(
    command,
    "skerry machine create",
    "skerry machine create --template base --name web --command 'exec python3 -m http.server' --restart always",
    "skerry machine create --template base --name web --check-path /health --check-port 8080 --check-restart",
    "skerry machine create --template base --command 'python3 /srv/job.py' --max-retries 3 --stop-timeout 1m",
    "skerry machine create --template base --egress-allow-cidr 10.0.0.0/8 --egress-allow-port 443",
  );
}

interface Creation {
  readonly template: string | undefined;
  readonly flags: CreateFlags;
  readonly self: Command;
}

async function createMachine(cli: Cli, { template: argument, flags, self }: Creation): Promise<void> {
  const env = await envOf(flags);
  const client = await cli.client(self);
  const template =
    flags.snapshot === undefined || flags.template !== undefined || argument !== undefined
      ? await chosenTemplate(client, { flag: flags.template, argument }, cli.signal)
      : undefined;
  const request = createRequest({ ...flags, env, template });
  await createInterruptibly(cli, {
    noun: "machine",
    hint: firstUseHint(flags.size),
    create: (options) => client.machines.create(request, options),
    destroy: (id, options) => client.machines.destroy(id, options),
    tell: async (machine) => {
      if (flags.json === true) return cli.output.json(machine);
      await cli.output.line(machine.id);
      await cli.output.note(`${machine.template}, ${machine.size}; restart: ${machine.restart.policy}`);
    },
  });
}

/** The flags with the template that they mean and the variables that they name. */
interface Wish extends Omit<CreateFlags, "env" | "template"> {
  readonly template: string | undefined;
  readonly env: Readonly<Record<string, string>> | undefined;
}

function createRequest(flags: Wish): MachineCreateRequest {
  const { template, snapshot, name, size, env, metadata, command } = flags;
  return {
    ...given({ template, snapshot, name, size, env, metadata, egress: egressRequest(flags), command }),
    ...policyRequest(flags),
    ...given({ check: checkRequest(flags), secrets: flags.secret }),
  };
}
