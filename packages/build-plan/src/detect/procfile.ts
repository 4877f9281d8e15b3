// A Procfile: a line `NAME: COMMAND` for each process of an app.

import type { PlannedProcess } from "../build-plan.ts";
import { commandText, fileFault } from "./manifests.ts";

const PROCESSES_MAX = 50;

export function readProcfile(text: string): readonly PlannedProcess[] {
  const processes: PlannedProcess[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const [, name, command] = /^([A-Za-z0-9_-]{1,63}):(.*)$/.exec(line) ?? [];
    if (name === undefined || command === undefined)
      throw fileFault("Procfile", `has in line ${index + 1} no process`, "A line is `NAME: COMMAND`.");
    if (processes.length === PROCESSES_MAX)
      throw fileFault("Procfile", `has more than ${PROCESSES_MAX} processes`);
    if (processes.some((one) => one.name === name)) throw fileFault("Procfile", `has two processes ${name}`);
    processes.push({ name, command: commandText("Procfile", `command of ${name}`, command) });
  }
  if (processes.length === 0) throw fileFault("Procfile", "names no process");
  return processes;
}
