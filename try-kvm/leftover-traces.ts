// What the platforms of a run have on the machine, and what is left of them.

import type { Traces } from "@skerry/contract/hosts/machine-report";
import {
  countTraces,
  mostTraces,
  traceKinds,
  tracesOf,
  type TraceLists,
} from "../packages/cli/src/local/doctor/traces.ts";

const none = Object.fromEntries(traceKinds.map((kind) => [kind, []])) as unknown as TraceLists; // every kind is in it

/** `register`: one line for each platform, its instance, a blank and its state folder. */
async function tracesIn(register: string): Promise<TraceLists> {
  let all = none;
  for (const line of register.split("\n").filter(Boolean)) {
    const [instance = "", state = ""] = line.split(" ");
    const its = await tracesOf(instance, state);
    all = Object.fromEntries(
      traceKinds.map((kind) => [kind, [...all[kind], ...its[kind]]]),
    ) as unknown as TraceLists;
  }
  return all;
}

/** Looks now and then; `end` looks for the last time. */
export class TraceWatch {
  readonly #register: () => Promise<string>;
  #during: TraceLists = none;

  constructor(register: () => Promise<string>) {
    this.#register = register;
  }

  async look(): Promise<void> {
    this.#during = mostTraces(this.#during, await tracesIn(await this.#register()));
  }

  async end(): Promise<{ readonly traces: readonly Traces[]; readonly left: readonly string[] }> {
    const after = await tracesIn(await this.#register());
    return {
      traces: countTraces(none, this.#during, after),
      left: traceKinds.flatMap((kind) => after[kind].map((name) => `${kind}: ${name}`)),
    };
  }
}
