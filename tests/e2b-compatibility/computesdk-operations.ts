// Operations of ComputeSDK's provider for E2B. It finds the server by the environment alone.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { e2b } from "@computesdk/e2b";
import { until } from "../support/platform.ts";
import { holds, same, type NotTried, type Operation } from "./operation.ts";

type Provider = ReturnType<typeof e2b>;
type ProviderSandbox = Awaited<ReturnType<Provider["sandbox"]["create"]>>;

export interface ProviderContext {
  readonly provider: Provider;
  readonly sandbox: ProviderSandbox;
}

const own = createRequire(import.meta.url).resolve("@computesdk/e2b");
const ofProvider = createRequire(own).resolve("@computesdk/provider");
const ofSdk = createRequire(ofProvider).resolve("computesdk");

/** Declarations of what a provider has, and the interfaces in them that say it. */
export const providerDeclarations = [
  {
    file: join(dirname(ofProvider), "index.d.ts"),
    names: [
      "ProviderSandbox",
      "ProviderSandboxManager",
      "ProviderSnapshotManager",
      "ProviderTemplateManager",
    ],
  },
  { file: join(dirname(ofSdk), "index.d.ts"), names: ["Sandbox", "SandboxFileSystem"] },
] as const;

const OF_PROVIDER = "does nothing in this provider";

export const notTriedOfProvider: NotTried = {
  "ProviderSnapshotManager.list": OF_PROVIDER,
  "ProviderSnapshotManager.delete": OF_PROVIDER,
  "ProviderTemplateManager.create": OF_PROVIDER,
  "ProviderTemplateManager.list": OF_PROVIDER,
  "ProviderTemplateManager.delete": OF_PROVIDER,
};

type ProviderOperation = Operation<ProviderContext>;

export const providerOperations: readonly ProviderOperation[] = [
  {
    ...{ area: "Sandboxes", name: "create with environment and metadata; destroy" },
    covers: ["ProviderSandboxManager.create", "ProviderSandbox.destroy", "Sandbox.destroy"],
    async attempt({ provider }) {
      const made = await provider.sandbox.create({ envs: { WHO: "Ada" }, metadata: { who: "Ada" } });
      const { stdout } = await made.runCommand("echo $WHO");
      await made.destroy();
      same([stdout, await provider.sandbox.getById(made.sandboxId)], ["Ada\n", null]);
    },
  },
  {
    ...{ area: "Sandboxes", name: "by its id: get, destroy; list" },
    covers: [
      "ProviderSandboxManager.getById",
      "ProviderSandboxManager.destroy",
      "ProviderSandboxManager.list",
    ],
    async attempt({ provider }) {
      const { sandboxId } = await provider.sandbox.create();
      const ids = async () => (await provider.sandbox.list()).map((one) => one.sandboxId);
      same((await provider.sandbox.getById(sandboxId))?.sandboxId, sandboxId);
      holds((await ids()).includes(sandboxId), "it is listed");
      await provider.sandbox.destroy(sandboxId);
      holds(!(await ids()).includes(sandboxId), "it is listed no longer");
    },
  },
  {
    ...{ area: "Sandboxes", name: "its information, its instance, its provider" },
    covers: ["Sandbox.getInfo", "ProviderSandbox.getInstance", "ProviderSandbox.getProvider"],
    async attempt({ provider, sandbox }) {
      const { id, status } = await sandbox.getInfo();
      same([id, status, sandbox.getInstance().sandboxId], [sandbox.sandboxId, "running", sandbox.sandboxId]);
      same(sandbox.getProvider().name, provider.name);
    },
  },
  {
    ...{ area: "Sandboxes", name: "the URL of a port", covers: ["Sandbox.getUrl"] },
    async attempt({ sandbox }) {
      same(await sandbox.getUrl({ port: 8000 }), `https://${sandbox.getInstance().getHost(8000)}`);
    },
  },
  {
    ...{ area: "Sandboxes", name: "create from a snapshot", covers: ["ProviderSnapshotManager.create"] },
    async attempt({ provider, sandbox }) {
      await sandbox.filesystem.writeFile("kept.txt", "kept");
      const snapshot = (await provider.snapshot?.create(sandbox.sandboxId)) as { id: string } | undefined;
      const made = await provider.sandbox.create({ snapshotId: snapshot?.id ?? "none" });
      const kept = await made.filesystem.readFile("kept.txt");
      await made.destroy();
      await sandbox.getInstance().commands.run("true");
      same(kept, "kept");
    },
  },
  {
    ...{
      area: "Commands",
      name: "run: output, exit code, folder, environment",
      covers: ["Sandbox.runCommand"],
    },
    async attempt({ sandbox }) {
      const how = { cwd: "/tmp", env: { A: "b" } };
      const { stdout, stderr, exitCode } = await sandbox.runCommand(
        "sh -c 'pwd; echo $A; echo why >&2; exit 7'",
        how,
      );
      same([stdout, stderr, exitCode], ["/tmp\nb\n", "why\n", 7]);
    },
  },
  {
    ...{ area: "Commands", name: "run in the background", covers: [] },
    async attempt({ sandbox }) {
      await sandbox.runCommand("sh -c 'sleep 1; touch /tmp/done'", { background: true });
      await until("the command was done", () => sandbox.filesystem.exists("/tmp/done"));
    },
  },
  {
    ...{ area: "Files", name: "write, read, make a directory, list, exists, remove" },
    covers: [
      ...["readFile", "writeFile", "mkdir", "readdir", "exists", "remove"].map(
        (name) => `SandboxFileSystem.${name}`,
      ),
    ],
    async attempt({ sandbox: { filesystem } }) {
      await filesystem.mkdir("made");
      await filesystem.writeFile("made/a.txt", "ü");
      same(await filesystem.readFile("made/a.txt"), "ü");
      same(
        (await filesystem.readdir("made")).map(({ name }) => name),
        ["a.txt"],
      );
      await filesystem.remove("made");
      same(await filesystem.exists("made"), false);
    },
  },
];
