// `skerry sandbox`: its verbs are in the files beside this one.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { registerSandboxCreate } from "./sandbox-create.ts";
import { registerSandboxPower } from "./sandbox-power.ts";
import { registerVmRollback } from "../vms/vm-rollback.ts";
import { registerVmFork } from "../vms/vm-fork.ts";
import { registerVmSnapshot } from "../vms/vm-snapshot.ts";
import { registerSandboxLogs } from "./sandbox-logs.ts";
import { registerSandboxLife } from "./sandbox-life.ts";
import { registerSandboxUpdate } from "./sandbox-update.ts";
import { registerVmEgress } from "../vms/vm-egress.ts";
import { registerVmExec } from "../vms/vm-exec.ts";
import { registerVmExecutions, registerVmKill } from "../vms/vm-executions.ts";
import { registerVmAttach, registerVmShell } from "../vms/vm-shell.ts";
import { registerVmFile } from "../vms/vm-file.ts";
import { registerVmFiles } from "../vms/vm-files.ts";
import { sandboxNoun } from "../vms/vm-noun.ts";
import { registerVmForward } from "../vms/vm-forward.ts";
import { registerVmEvents } from "../vms/vm-events.ts";
import { registerVmMetrics } from "../vms/vm-metrics.ts";
import { registerVmPorts } from "../vms/vm-ports.ts";
import { registerVmWatch } from "../vms/vm-watch.ts";

export function registerSandboxCommands(program: Command, cli: Cli): void {
  const sandbox = program.command("sandbox").description("Short-lived microVMs to run code in.");
  addExamples(
    sandbox,
    "ID=$(skerry sandbox create --template base)",
    "skerry sandbox exec $ID -- uname -a",
    "skerry sandbox upload $ID ./build.sh /root/",
    "skerry sandbox destroy $ID",
  );
  registerSandboxCreate(sandbox, cli);
  registerVmExec(sandbox, cli, sandboxNoun);
  registerVmShell(sandbox, cli, sandboxNoun);
  registerVmExecutions(sandbox, cli, sandboxNoun);
  registerSandboxLogs(sandbox, cli);
  registerVmAttach(sandbox, cli, sandboxNoun);
  registerVmKill(sandbox, cli, sandboxNoun);
  registerVmFiles(sandbox, cli, sandboxNoun);
  registerVmFile(sandbox, cli, sandboxNoun);
  registerVmWatch(sandbox, cli, sandboxNoun);
  registerSandboxLife(sandbox, cli);
  registerSandboxUpdate(sandbox, cli);
  registerSandboxPower(sandbox, cli);
  registerVmSnapshot(sandbox, cli, sandboxNoun);
  registerVmFork(sandbox, cli, sandboxNoun);
  registerVmRollback(sandbox, cli, sandboxNoun);
  registerVmEgress(sandbox, cli, sandboxNoun);
  registerVmEvents(sandbox, cli, sandboxNoun);
  registerVmMetrics(sandbox, cli, sandboxNoun);
  registerVmPorts(sandbox, cli, sandboxNoun);
  registerVmForward(sandbox, cli, sandboxNoun);
}
