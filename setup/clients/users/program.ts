// What users of the published client write, and what must not compile. A test compiles it with their compilers; ours never sees the package.

import {
  NotFoundError,
  Sandbox,
  Skerry,
  SkerryInputError,
  type Duration,
  type ExecuteEvent,
  type SandboxInfo,
  type SizeName,
} from "@skerry/sdk";

export async function work(signal: AbortSignal): Promise<SandboxInfo["status"]> {
  const skerry = new Skerry({ baseUrl: "https://skerry.example.org", token: "sk_0", retries: 1 });
  await using sandbox = await skerry.sandboxes.create({
    template: "base",
    size: "shared-cpu-2x",
    timeout: "1h30m",
    env: { A: "1" },
    egress: { mode: "deny_all", allow_ports: [443], allow_cidrs: ["203.0.113.0/24"] },
  });
  const { exit_code, stdout } = await sandbox.execute("true", { timeout: "30s", workdir: "/work", signal });
  const told: readonly [number, string] = [exit_code, stdout];
  for await (const event of sandbox.executeStream("true")) wrote(event);
  await sandbox.upload("/a", new Uint8Array(told[0]), { mode: "0755" });
  const { entries } = await sandbox.listDirectory("/");
  const size: number | undefined = entries[0]?.size;
  const timeout: Duration = "5m";
  await sandbox.keepalive(timeout);
  for await (const one of skerry.sandboxes.list({ status: "running" })) if (one instanceof Sandbox) break;
  const machine = await skerry.machines.create({ template: "base", restart: { policy: "always" } });
  // What the API answers can be asked for again.
  await skerry.machines.create({
    template: machine.template,
    size: machine.size,
    stop_timeout: machine.stop_timeout,
  });
  await skerry.tokens.create({ name: "ci", expires_in: "24h", scopes: ["sandboxes:read"] });
  return size === undefined ? sandbox.info.status : "running";
}

export async function find(id: string): Promise<SandboxInfo | undefined> {
  try {
    return (await new Skerry().sandboxes.get(id)).info;
  } catch (error) {
    if (error instanceof SkerryInputError) throw new Error(error.remediation);
    if (error instanceof NotFoundError && error.code === "sandbox_not_found") return undefined;
    throw error;
  }
}

function wrote(event: ExecuteEvent): number {
  return event.type === "exit" ? event.exit_code : event.data.byteLength;
}

export async function wrong(skerry: Skerry, sandbox: Sandbox): Promise<void> {
  // @ts-expect-error: no duration.
  await skerry.sandboxes.create({ template: "base", timeout: "5 minutes" });
  // @ts-expect-error: no duration.
  await skerry.sandboxes.create({ template: "base", timeout: 300 });
  // @ts-expect-error: no duration.
  await sandbox.execute("true", { timeout: "30" });
  // @ts-expect-error: no duration.
  await sandbox.keepalive("1 hour");
  // @ts-expect-error: no size.
  await skerry.sandboxes.create({ template: "base", size: "large" });
  // @ts-expect-error: a field that there is not.
  await skerry.sandboxes.create({ templat: "base" });
  // @ts-expect-error: a field that there is not.
  await skerry.machines.create({ templat: "base" });
  // @ts-expect-error: no size.
  const size: SizeName = "shared-cpu-onex";
  // @ts-expect-error: what is exported has types of its own, and none that takes everything.
  const id: number = sandbox.id + size;
  throw new Error(String(id));
}
