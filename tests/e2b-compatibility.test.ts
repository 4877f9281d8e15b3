// Each operation of E2B's published clients against a platform with real microVMs: what is seen is what docs/e2b-compatibility.md says.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { e2b } from "@computesdk/e2b";
import { Sandbox as Interpreter } from "@e2b/code-interpreter";
import * as oldest from "e2b-2.45";
import * as newest from "e2b-2.51";
import { describe, expect, test, vi } from "vitest";
import {
  commandLineFamily,
  interpreterFamily,
  providerFamily,
  sdkFamily,
} from "./e2b-compatibility/families.ts";
import type { Family } from "./e2b-compatibility/families.ts";
import { cellOf, type Row } from "./e2b-compatibility/operation.ts";
import { committedSection, sectionFor, writeSection } from "./e2b-compatibility/page.ts";
import type { Sdk, SdkContext } from "./e2b-compatibility/sdk.ts";
import { builtSandbox } from "./e2b-compatibility/template-operations.ts";
import { e2bOptions } from "./support/e2b-options.ts";
import { until } from "./support/platform.ts";
import { sharedPlatform } from "./support/shared.ts";

const isWritten = process.env["SKERRY_COMPATIBILITY"] === "write";
const WITHIN_MS = 3_600_000;
const SANDBOX_MS = 3_600_000;

describe("what the page says of E2B's clients is what is seen:", async () => {
  const platform = await sharedPlatform();
  const options = e2bOptions(platform, 300_000);
  const env = {
    E2B_API_KEY: options.apiKey,
    E2B_API_URL: options.apiUrl,
    E2B_SANDBOX_URL: options.sandboxUrl,
  };

  test("e2b", { timeout: WITHIN_MS }, async () => {
    const columns: string[][] = [];
    for (const [index, sdk] of [oldest as unknown as Sdk, newest].entries()) {
      const prefix = `e2b-${sdkFamily.versions[index]?.replaceAll(".", "-")}`;
      columns.push(await withSdk(sdk, prefix, (context) => tryAll(sdkFamily, context)));
    }
    await compare(sdkFamily, columns);
  });

  test("@e2b/cli", { timeout: WITHIN_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "skerry-e2b-"));
    const sandbox = await newest.Sandbox.create("base", { ...options, timeoutMs: SANDBOX_MS });
    try {
      const context = {
        env: { ...env, HOME: folder },
        sandboxId: sandbox.sandboxId,
        folder,
        prefix: "e2b-cli",
      };
      await compare(commandLineFamily, [await tryAll(commandLineFamily, context)]);
    } finally {
      await Promise.all([rm(folder, { recursive: true }), sandbox.kill()]);
    }
  });

  test("@e2b/code-interpreter", { timeout: WITHIN_MS }, async () => {
    const made: Interpreter[] = [];
    // The image is built when the first sandbox is asked for.
    await until(
      "a sandbox was made",
      () =>
        Interpreter.create({ ...options, timeoutMs: SANDBOX_MS }).then(
          (sandbox) => made.push(sandbox) > 0,
          (error: unknown) => (expect(String(error)).toMatch(/built|503|time/i), false),
        ),
      WITHIN_MS,
    );
    const [sandbox] = made;
    if (sandbox === undefined) throw new Error("no sandbox was made");
    try {
      await compare(interpreterFamily, [await tryAll(interpreterFamily, { sandbox })]);
    } finally {
      await sandbox.kill();
    }
  });

  test("@computesdk/e2b", { timeout: WITHIN_MS }, async () => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const provider = e2b({ apiKey: options.apiKey, timeout: SANDBOX_MS });
    const sandbox = await provider.sandbox.create({ templateId: "base" });
    try {
      await compare(providerFamily, [await tryAll(providerFamily, { provider, sandbox })]);
    } finally {
      await sandbox.destroy();
      vi.unstubAllEnvs();
    }
  });

  async function withSdk<Result>(
    sdk: Sdk,
    prefix: string,
    use: (context: SdkContext) => Promise<Result>,
  ): Promise<Result> {
    const envs = { GREETING: "hello" };
    const sandbox = await sdk.Sandbox.create("base", { ...options, envs, timeoutMs: SANDBOX_MS });
    const plain = { sdk, options, sandbox, prefix, rebootsOnConnect: sdk !== (oldest as unknown) };
    let built: Promise<newest.Sandbox> | undefined;
    try {
      return await use({ ...plain, built: () => (built ??= builtSandbox(plain)) });
    } finally {
      await Promise.all([sandbox.kill(), built?.then((other) => other.kill()).catch(() => undefined)]);
    }
  }
});

async function tryAll<Context>({ operations }: Family<Context>, context: Context): Promise<string[]> {
  const cells: string[] = [];
  for (const operation of operations) cells.push(await cellOf(operation, context));
  return cells;
}

async function compare<Context>(
  family: Family<Context>,
  columns: readonly (readonly string[])[],
): Promise<void> {
  const rows = family.operations.map(({ area, name }, index): Row => ({
    ...{ area, name },
    cells: columns.map((cells) => cells[index] ?? ""),
  }));
  const section = sectionFor(family, rows);
  if (isWritten) await writeSection(family, section);
  expect(section).toBe(await committedSection(family));
}
