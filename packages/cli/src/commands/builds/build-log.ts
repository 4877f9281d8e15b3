import type { Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";

interface LogFlags {
  readonly follow?: boolean;
}

export async function printBuildLog(
  cli: Cli,
  client: Skerry,
  id: string,
  { follow }: LogFlags,
): Promise<void> {
  const { signal } = cli;
  if (follow === true) {
    for await (const { text } of client.builds.followLog(id, { signal })) await cli.output.line(text);
    return;
  }
  let after = 0;
  for (;;) {
    const { lines, more } = await client.builds.log(id, { after, signal });
    for (const { line, text } of lines) {
      after = line;
      await cli.output.line(text);
    }
    if (!more) return;
  }
}
