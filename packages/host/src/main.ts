// The host agent. `serve` runs it; `prepare` does beforehand, with progress on stdout, the slow steps:
// kernel, images, and the frozen template of the default size; `clear` ends the VMs of a host that does not
// run; `examine` tries what a host does and prints what it finds, for `skerry doctor --thorough`.

import type { NameProxySettings } from "./network/name-proxy-protocol.ts";

async function main([command = "serve", settings = ""]: readonly string[]): Promise<void> {
  // Each is a process of its own, and the name proxy's memory has nothing of the rest.
  if (command === "names") {
    const { runNameProxy } = await import("./names/name-proxy-process.ts");
    return runNameProxy(JSON.parse(settings) as NameProxySettings);
  }
  const { runHost } = await import("./run-host.ts");
  return runHost(command);
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
