// What operations of E2B's JavaScript SDK are tried with, and which of its public methods are not tried.

import type * as newest from "e2b-2.51";
import type { NotTried, Operation } from "./operation.ts";

export type Sdk = typeof newest;
export type Sandbox = newest.Sandbox;

export interface SdkContext {
  readonly sdk: Sdk;
  readonly options: { apiKey: string; apiUrl: string; sandboxUrl: string; requestTimeoutMs: number };
  /** Runs, of the template `base`, with `GREETING=hello`; operations leave it running. */
  readonly sandbox: Sandbox;
  /** A sandbox of the template that `template-operations.ts` builds. */
  readonly built: () => Promise<Sandbox>;
  /** Whether this version has `onResume`. */
  readonly rebootsOnConnect: boolean;
  /** Names of templates and snapshots begin with it. */
  readonly prefix: string;
}

export type SdkOperation = Operation<SdkContext>;

export const SANDBOX_TIMEOUT_MS = 1_800_000;

/** Runs with a sandbox of its own, which is killed afterwards. */
export async function withSandbox<Result>(
  { sdk, options }: SdkContext,
  how: newest.SandboxOpts,
  use: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = await sdk.Sandbox.create("base", { ...options, timeoutMs: SANDBOX_TIMEOUT_MS, ...how });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.kill();
  }
}

const REGISTRY = "needs an image of a public registry";
const PACKAGES = "needs a public package registry, or a mirror that guests reach";
const NO_VOLUME = "there is no volume to call it of: making one is refused";
const OF_CLIENT = "the client's own, without a call to a server";

export const notTriedOfSdk: NotTried = {
  "static ConnectionConfig.setIntegration": OF_CLIENT,
  "static ConnectionConfig.mergeOpts": OF_CLIENT,
  "ConnectionConfig.getSignal": OF_CLIENT,
  "ConnectionConfig.getSandboxUrl": OF_CLIENT,
  "ConnectionConfig.getSandboxDirectUrl": OF_CLIENT,
  "ConnectionConfig.getHost": OF_CLIENT,
  "VolumeConnectionConfig.getSignal": OF_CLIENT,
  "Paginator.nextItems": "abstract: those of lists of sandboxes, snapshots and secrets are tried",
  "static Secret.fill": OF_CLIENT,
  "static Secret.iamToken": OF_CLIENT,
  "ReadyCmd.getCmd": OF_CLIENT,
  "LogEntry.toString": OF_CLIENT,
  "Volume.list": NO_VOLUME,
  "Volume.makeDir": NO_VOLUME,
  "Volume.getInfo": NO_VOLUME,
  "Volume.exists": NO_VOLUME,
  "Volume.updateMetadata": NO_VOLUME,
  "Volume.readFile": NO_VOLUME,
  "Volume.writeFile": NO_VOLUME,
  "Volume.remove": NO_VOLUME,
  "TemplateBase.fromDebianImage": REGISTRY,
  "TemplateBase.fromUbuntuImage": REGISTRY,
  "TemplateBase.fromFedoraImage": REGISTRY,
  "TemplateBase.fromAlpineImage": REGISTRY,
  "TemplateBase.fromArchImage": REGISTRY,
  "TemplateBase.fromPythonImage": REGISTRY,
  "TemplateBase.fromNodeImage": REGISTRY,
  "TemplateBase.fromBunImage": REGISTRY,
  "TemplateBase.pipInstall": PACKAGES,
  "TemplateBase.npmInstall": PACKAGES,
  "TemplateBase.bunInstall": PACKAGES,
  "TemplateBase.aptInstall": PACKAGES,
  "TemplateBase.addMcpServer": "needs E2B's template `mcp-gateway`",
  "TemplateBase.betaDevContainerPrebuild": "needs E2B's template `devcontainer`",
  "TemplateBase.betaSetDevContainerStart": "needs E2B's template `devcontainer`",
};
