// A build from its beginning to its end, as a command shows it: what it prints, on standard error, and why it failed.

import { setTimeout as sleep } from "node:timers/promises";
import type { Build, PushOptions, Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError, InterruptedError } from "../../errors/errors.ts";

type Told = Required<Pick<PushOptions, "onBuild" | "onLine">>;

const WAIT = "Waiting for the build's microVM";

/** `carryOut` resolves with the build when it has ended, and is given what it tells of it meanwhile; `deed` says what the build does. An interrupt cancels it.
 *  Throws its error where it is not ready. */
export async function followToEnd(
  cli: Cli,
  client: Skerry,
  carryOut: (told: (deed: (build: Build) => string) => Told) => Promise<Build>,
): Promise<Build> {
  let begun: Build | undefined;
  let printed = Promise.resolve();
  const texts = new Set<string>();
  // Node 20 has no `Promise.withResolvers`.
  let hasBegun = () => {};
  const firstLine = new Promise<void>((resolve) => (hasBegun = resolve));
  const print = (text: string) => (printed = printed.then(() => cli.output.note(text)));
  try {
    const build = await carryOut((deed) => ({
      onBuild: (one) => {
        begun = one;
        void print(`${one.id} ${deed(one)}.`);
        // Until there is one, the context is not taken and nothing is logged.
        printed = printed.then(() => cli.waits.during(WAIT, () => firstLine));
        void tellWaits(cli, client, { id: one.id, firstLine });
      },
      onLine: ({ step, text }) => {
        hasBegun();
        texts.add(text);
        void print(`${step === null ? "-" : step + 1}  ${text}`);
      },
    }));
    // It may end without a line.
    hasBegun();
    await printed;
    if (build.status !== "ready") throw notReady(build, texts);
    return build;
  } catch (error) {
    // Nobody waits for it any more.
    if (begun !== undefined && error instanceof InterruptedError) await client.builds.cancel(begun.id);
    throw error;
  } finally {
    hasBegun();
  }
}

const LOOK_MS = 5_000;

/** Says beside the wait what the build itself says that it waits for. */
async function tellWaits(
  cli: Cli,
  client: Skerry,
  { id, firstLine }: { readonly id: string; readonly firstLine: Promise<void> },
): Promise<void> {
  let isOver = false;
  void firstLine.then(() => (isOver = true));
  for (;;) {
    await Promise.race([sleep(LOOK_MS, undefined, { ref: false }), firstLine]);
    if (isOver || cli.signal.aborted) return;
    // A look that fails is made again; the build's own calls tell what is wrong.
    const build = await client.builds.get(id, { signal: cli.signal }).catch(() => undefined);
    if (build?.waits_for) cli.waits.tell(`it ${build.waits_for.reason}`);
  }
}

/** Its last lines only where they did not come with the log, as what a start command has printed. */
function notReady({ id, status, error, steps }: Build, printed: ReadonlySet<string>): CliError {
  if (error === null) return new CliError(`build_${status}`, `The build ${id} is ${status}.`);
  const name = error.step === null ? undefined : steps[error.step]?.name;
  const where = name === undefined ? "" : ` The step was: ${name}`;
  return new CliError(error.code, `${error.message}${where}`, {
    ...(error.last_lines.every((line) => printed.has(line)) ? {} : { lines: error.last_lines }),
    remediation: `The whole log: skerry build logs ${id}`,
  });
}
