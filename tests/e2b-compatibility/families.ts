// The published clients that are tried, each with its pinned versions, its table of operations, and where its methods are declared.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { interpreterOperations, notTriedOfInterpreter } from "./code-interpreter-operations.ts";
import { commandLineOperations, notTriedOfCommandLine } from "./command-line-operations.ts";
import { processOperations } from "./command-operations.ts";
import { notTriedOfProvider, providerOperations } from "./computesdk-operations.ts";
import { fileOperations } from "./file-operations.ts";
import { gitOperations } from "./git-operations.ts";
import { networkOperations } from "./network-operations.ts";
import type { NotTried, Operation } from "./operation.ts";
import { sandboxOperations } from "./sandbox-operations.ts";
import { notTriedOfSdk, type SdkContext } from "./sdk.ts";
import { templateOperations } from "./template-operations.ts";

const modules = join(import.meta.dirname, "../../node_modules");

export interface Family<Context> {
  /** As the registry names the package. */
  readonly name: string;
  readonly versions: readonly string[];
  readonly operations: readonly Operation<Context>[];
  readonly notTried: NotTried;
}

export const sdkDeclarations = join(modules, "e2b-2.51/dist/index.d.ts");

export const sdkFamily: Family<SdkContext> = {
  name: "e2b",
  versions: ["e2b-2.45", "e2b-2.51"].map(versionOf),
  operations: [
    ...sandboxOperations,
    ...processOperations,
    ...fileOperations,
    ...gitOperations,
    ...templateOperations,
    ...networkOperations,
  ],
  notTried: notTriedOfSdk,
};

export const commandLineFamily = {
  name: "@e2b/cli",
  versions: [versionOf("@e2b/cli")],
  operations: commandLineOperations,
  notTried: notTriedOfCommandLine,
} as const;

export const interpreterFamily = {
  name: "@e2b/code-interpreter",
  versions: [versionOf("@e2b/code-interpreter")],
  operations: interpreterOperations,
  notTried: notTriedOfInterpreter,
} as const;

export const providerFamily = {
  name: "@computesdk/e2b",
  versions: [versionOf("@computesdk/e2b")],
  operations: providerOperations,
  notTried: notTriedOfProvider,
} as const;

export const families = [sdkFamily, commandLineFamily, interpreterFamily, providerFamily] as const;

function versionOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(modules, folder, "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version;
}
