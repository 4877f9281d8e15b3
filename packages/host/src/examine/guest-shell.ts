import { startExecute, exitOf } from "../guest/agent.ts";
import { withDeadline } from "../guest/patience.ts";
import type { GuestChannel } from "../guest/channel.ts";

const OUTPUT_MAX_BYTES = 64 * 1024;

/** Runs a command in a guest and resolves with what it said, without the white space around it; rejects where the command failed. */
export async function guestShell(
  channel: GuestChannel,
  command: string,
  timeoutMs = 60_000,
): Promise<string> {
  const operation = { command, env: {}, timeout_ms: timeoutMs, stdin: false, output_limit: OUTPUT_MAX_BYTES };
  const { stream, deadlineMs } = startExecute(channel, operation);
  const run = async (): Promise<string> => {
    const parts: Buffer[] = [];
    // Copied, because the stream uses its blocks again.
    for (let part = await stream.read(); part !== undefined; part = await stream.read())
      parts.push(Buffer.from(part.bytes));
    const said = Buffer.concat(parts).toString("utf8").trim();
    const { exit_code: exitCode } = await exitOf(stream);
    if (exitCode !== 0) throw new Error(`in the guest \`${command}\` ended with ${exitCode}: ${said}`);
    return said;
  };
  return withDeadline(channel, deadlineMs, run());
}
