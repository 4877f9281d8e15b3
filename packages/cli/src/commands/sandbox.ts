// `skerry sandbox`: its verbs are in the files beside this one.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";
import { registerSandboxCreate } from "./sandbox-create.ts";
import { registerSandboxEgress } from "./sandbox-egress.ts";
import { registerSandboxExec } from "./sandbox-exec.ts";
import { registerSandboxFiles } from "./sandbox-files.ts";
import { registerSandboxLife } from "./sandbox-life.ts";

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
  registerSandboxExec(sandbox, cli);
  registerSandboxFiles(sandbox, cli);
  registerSandboxLife(sandbox, cli);
  registerSandboxEgress(sandbox, cli);
}
