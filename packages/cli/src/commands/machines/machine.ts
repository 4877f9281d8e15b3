// `skerry machine`: its verbs are in the files beside this one.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { registerMachineCreate } from "./machine-create.ts";
import { registerMachineLife } from "./machine-life.ts";
import { registerMachineUpdate } from "./machine-update.ts";
import { registerMachineLogs } from "./machine-logs.ts";
import { registerMachineRestarts } from "./machine-restarts.ts";
import { registerVmEgress } from "../vms/vm-egress.ts";
import { registerVmExec } from "../vms/vm-exec.ts";
import { registerVmExecutions, registerVmKill } from "../vms/vm-executions.ts";
import { registerVmAttach, registerVmShell } from "../vms/vm-shell.ts";
import { registerVmFile } from "../vms/vm-file.ts";
import { registerVmFiles } from "../vms/vm-files.ts";
import { machineNoun } from "../vms/vm-noun.ts";
import { registerVmForward } from "../vms/vm-forward.ts";
import { registerVmEvents } from "../vms/vm-events.ts";
import { registerVmMetrics } from "../vms/vm-metrics.ts";
import { registerVmPorts } from "../vms/vm-ports.ts";
import { registerVmRollback } from "../vms/vm-rollback.ts";
import { registerVmFork } from "../vms/vm-fork.ts";
import { registerVmSnapshot } from "../vms/vm-snapshot.ts";
import { registerVmWatch } from "../vms/vm-watch.ts";

export function registerMachineCommands(program: Command, cli: Cli): void {
  const machine = program.command("machine").description("MicroVMs that are meant to keep running.");
  addExamples(
    machine,
    "ID=$(skerry machine create --template base --command 'exec python3 -m http.server')",
    "skerry machine logs $ID --follow",
    "skerry machine stop $ID && skerry machine start $ID",
    "skerry machine destroy $ID",
  );
  registerMachineCreate(machine, cli);
  registerMachineLife(machine, cli);
  registerMachineUpdate(machine, cli);
  registerMachineLogs(machine, cli);
  registerMachineRestarts(machine, cli);
  registerVmSnapshot(machine, cli, machineNoun);
  registerVmFork(machine, cli, machineNoun);
  registerVmRollback(machine, cli, machineNoun);
  registerVmExec(machine, cli, machineNoun);
  registerVmShell(machine, cli, machineNoun);
  registerVmExecutions(machine, cli, machineNoun);
  registerVmAttach(machine, cli, machineNoun);
  registerVmKill(machine, cli, machineNoun);
  registerVmFiles(machine, cli, machineNoun);
  registerVmFile(machine, cli, machineNoun);
  registerVmWatch(machine, cli, machineNoun);
  registerVmEgress(machine, cli, machineNoun);
  registerVmEvents(machine, cli, machineNoun);
  registerVmMetrics(machine, cli, machineNoun);
  registerVmPorts(machine, cli, machineNoun);
  registerVmForward(machine, cli, machineNoun);
}
