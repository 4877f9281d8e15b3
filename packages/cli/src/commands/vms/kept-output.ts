import type { Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";

/** Writes what is kept of an execution: each byte to the stream where it came. */
export async function writeKeptOutput({ output, signal }: Cli, client: Skerry, id: string): Promise<void> {
  const { stdout, stderr } = await client.executions.get(id, { encoding: "base64", signal });
  await output.bytes("stdout", Buffer.from(stdout, "base64"));
  await output.bytes("stderr", Buffer.from(stderr, "base64"));
}
