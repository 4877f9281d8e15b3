// `skerry machine`: its verbs are in the files beside this one.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";
import { registerMachineCreate } from "./machine-create.ts";
import { registerMachineLife } from "./machine-life.ts";
import { registerMachineLogs } from "./machine-logs.ts";
import { registerEgress } from "./vm-egress.ts";
import { registerExec } from "./vm-exec.ts";
import { registerFiles } from "./vm-files.ts";
import { machineNoun } from "./vm-noun.ts";

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
  registerMachineLogs(machine, cli);
  registerExec(machine, cli, machineNoun);
  registerFiles(machine, cli, machineNoun);
  registerEgress(machine, cli, machineNoun);
}
