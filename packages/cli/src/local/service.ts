// `skerry service`: the background services of control, for an operator who looks for a fault.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError, exitCodes } from "../errors.ts";
import { addExamples } from "../options.ts";
import { controlCommand } from "./servers/control-command.ts";
import { ownLayout, type Layout } from "./system/layout.ts";

/** More than control itself gives a run. */
const RUN_WITHIN_MS = 150_000;

/** As control prints it. */
interface ServiceState {
  readonly name: string;
  readonly every_ms: number;
  readonly running?: boolean;
  readonly holder?: string;
  readonly last_run_at?: string | null;
  readonly last_run?: {
    readonly duration_ms: number;
    readonly examined?: number;
    readonly changed?: number;
    readonly failed?: number;
    readonly error?: string;
  } | null;
}

export function registerServiceCommands(program: Command, cli: Cli): void {
  const service = program
    .command("service")
    .description("The background services of control: how they ran last, and one run of one of them.");
  const list = service
    .command("list")
    .description("List the services with how their last run went, and on which replica.")
    .option("--json", "print JSON")
    .action(async (flags: { readonly json?: boolean }) => {
      const states = await controlCommand(ownLayout(), ["service", "list"], { failure: "services_unknown" });
      if (flags.json === true) return cli.output.json(states);
      // Control is of the same build.
      const rows = (states as readonly ServiceState[]).map(rowOf);
      await cli.output.table(
        ["SERVICE", "EVERY", "LAST RUN", "TOOK", "EXAMINED", "CHANGED", "FAILED", "BY"],
        rows,
        { prose: [6], minor: [7, 4, 5, 3] },
      );
    });
  addExamples(list, "skerry service list");
  const run = service
    .command("run")
    .description("Run one service now, and print its report; waits until no replica runs it.")
    .argument("<name>", "name of the service, as `skerry service list` shows it")
    .option("--json", "print the report as JSON")
    .action(async (name: string, flags: { readonly json?: boolean }) => {
      const options = { failure: "service_failed", deadlineMs: RUN_WITHIN_MS };
      const layout = ownLayout();
      const report = await controlCommand(layout, ["service", "run", name], options).catch(
        async (error: unknown) => {
          throw (await unknownService(layout, name)) ?? error;
        },
      );
      if (flags.json === true) return cli.output.json(report);
      await cli.output.fields(reportFields(report as object));
    });
  addExamples(run, "skerry service run vm-cleanup");
}

/** Where a run failed because there is no such service. */
async function unknownService(layout: Layout, name: string): Promise<CliError | undefined> {
  const states = await controlCommand(layout, ["service", "list"], { failure: "services_unknown" }).catch(
    () => undefined,
  );
  return states === undefined ? undefined : noSuchService(name, states as readonly ServiceState[]);
}

export function noSuchService(
  name: string,
  states: readonly Pick<ServiceState, "name">[],
): CliError | undefined {
  const names = states.map((state) => state.name);
  if (names.includes(name)) return undefined;
  return new CliError("service_not_found", `There is no service "${name}".`, {
    remediation: `\`skerry service list\` shows how they run: ${names.join(", ")}.`,
    exitCode: exitCodes.usage,
  });
}

/** Its figures and words; what it has beside them is for programs. */
export function reportFields(report: object): (readonly [string, string])[] {
  return Object.entries(report)
    .filter(([, value]) => value !== null && typeof value !== "object")
    .map(([name, value]) => [name.replaceAll("_", " "), String(value)]);
}

function rowOf({ name, every_ms, running, last_run_at, last_run, holder }: ServiceState): string[] {
  const count = (value: number | undefined) => (value === undefined ? "" : String(value));
  return [
    name,
    `${every_ms / 1_000} s`,
    running === true ? "now" : (last_run_at ?? "never"),
    last_run == null ? "" : `${Math.round(last_run.duration_ms)} ms`,
    count(last_run?.examined),
    count(last_run?.changed),
    last_run?.error ?? count(last_run?.failed),
    holder ?? "",
  ];
}
