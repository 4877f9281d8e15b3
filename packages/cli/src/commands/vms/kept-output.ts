import type { ExecuteEvent, FollowEvent, KeptOutput, Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { passOn, tellExit } from "./vm-exec.ts";

/** Writes what is kept of an execution: each byte to the stream where it came. */
export async function writeKeptOutput(cli: Cli, client: Skerry, id: string): Promise<void> {
  await write(cli, await read(cli, client, id));
}

/** The same, of one that runs to its end. Exits with its code. */
export async function followKeptOutput(cli: Cli, client: Skerry, id: string): Promise<void> {
  const one = await read(cli, client, id);
  cli.failedExitCode = exitCodes.notRun;
  if (one.status !== "running") {
    await write(cli, one);
    return endAs(cli, one);
  }
  const { signal } = cli;
  let position = 0;
  const events = client.sandboxes.followExecution(one.sandbox_id, one.id, { signal });
  const counted = counting(events, (reached) => void (position = reached));
  try {
    cli.exitCode = await passOn(cli, withoutDropped(cli, counted));
  } catch (error) {
    if (signal.aborted) throw error;
    // Its sandbox may have ended meanwhile, which says no more than that it is not there.
    const now = await read(cli, client, id).catch(() => one);
    if (now.status === "running") throw error;
    if (position === 0) await write(cli, now);
    else await cli.output.note(`The sandbox went meanwhile. All that was kept: skerry runs logs ${now.id}`);
    return endAs(cli, now);
  }
  await tellCode(cli);
}

function read({ signal }: Cli, client: Skerry, id: string): Promise<KeptOutput> {
  return client.executions.get(id, { encoding: "base64", signal });
}

async function write({ output }: Cli, { stdout, stderr }: KeptOutput): Promise<void> {
  await output.bytes("stdout", Buffer.from(stdout, "base64"));
  await output.bytes("stderr", Buffer.from(stderr, "base64"));
}

async function endAs(cli: Cli, { exit, reason }: KeptOutput): Promise<void> {
  if (exit === null)
    throw new CliError(
      "run_ended",
      `The run ended without an exit code: ${reason ?? "it is not known why"}.`,
    );
  cli.exitCode = await tellExit(cli, exit);
  await tellCode(cli);
}

async function tellCode({ exitCode, output }: Cli): Promise<void> {
  if (exitCode !== exitCodes.ok) await output.note(`The run exited with ${exitCode}.`);
}

async function* counting(
  events: AsyncIterable<FollowEvent>,
  reach: (position: number) => void,
): AsyncGenerator<FollowEvent, void> {
  for await (const event of events) {
    reach(event.position);
    yield event;
  }
}

/** Output alone: of bytes that were dropped before they could be read a note tells. */
export async function* withoutDropped(
  { output }: Cli,
  events: AsyncIterable<FollowEvent>,
): AsyncGenerator<ExecuteEvent & { readonly position: number }, void> {
  for await (const event of events) {
    if (event.type === "dropped")
      await output.note(`(bytes ${event.from} to ${event.to} are not kept any more)`);
    else yield event;
  }
}
