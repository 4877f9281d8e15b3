// What `npm run package` makes, on a machine that could not have built it.

import { execFile } from "node:child_process";
import { lstat, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { newInstallation, openPlatform } from "./support/platform.ts";
import { pathWithoutBuildTools, unpackedPackage } from "./support/package.ts";

const execute = promisify(execFile);

interface Finding {
  readonly check: string;
  readonly verdict: string;
  readonly found: string;
}

test("a package runs a first sandbox where there is neither a compiler nor npm nor Node", async () => {
  await using unpacked = await unpackedPackage();
  const { tree, scratch } = unpacked;
  const path = await pathWithoutBuildTools(scratch);
  for (const missing of ["node", "npm", "gcc", "make"])
    await expect(lstat(join(path, missing)), missing).rejects.toThrow("ENOENT");
  const installation = await newInstallation({ assets: inject("assets") });
  const env = { ...installation.env, PATH: path, HOME: scratch };
  const packaged = async (...args: readonly string[]): Promise<string> =>
    (await execute(join(tree, "bin/skerry"), args, { env, timeout: 240_000 })).stdout;
  try {
    expect(await packaged("--version")).toMatch(/^\d+\.\d+\.\d+\n$/);
    const findings = JSON.parse(await packaged("doctor", "--json").catch(stdoutOf)) as Finding[];
    for (const check of ["system packages", "node", "build", "postgresql"])
      expect(findings.find((one) => one.check === check)).toMatchObject({ verdict: "ok" });
    expect(findings.find((one) => one.check === "build")?.found).toBe(join(tree, "dist"));
    await packaged("up");
    const { client, apiUrl, token } = await openPlatform(installation.state, env);
    await using sandbox = await client.sandboxes.create({ template: "base" });
    expect((await sandbox.execute("echo $((6 * 7))")).stdout).toBe("42\n");
    expect((await fetch(`${apiUrl}/docs`)).status).toBe(200);
    // A user, who has a Node of their own, installs the client that the package hands out.
    const user = {
      PATH: `${dirname(process.execPath)}:${path}`,
      HOME: scratch,
      PREFIX: join(scratch, "user"),
    };
    await execute("sh", ["-c", `curl -fsSL ${apiUrl}/install.sh | sh`], { env: user });
    const listed = await execute(join(scratch, "user/bin/skerry"), ["sandbox", "list"], {
      env: { ...user, SKERRY_API_TOKEN: token },
    });
    expect(listed.stdout).toContain(sandbox.id);
    for (const client of ["sdk.tgz", "cli.tgz", "cli", "skerry.whl"]) {
      const handedOut = await fetch(`${apiUrl}/${client}`);
      expect([handedOut.status, (await handedOut.bytes()).length > 10_000], client).toEqual([200, true]);
    }
    expect(await packaged("status")).toMatch(/^control +running/m);
  } finally {
    await packaged("down");
    await rm(installation.state, { recursive: true, force: true });
  }
  const licences = await readFile(join(tree, "THIRD-PARTY-LICENCES.txt"), "utf8");
  for (const name of ["fastify ", "kysely ", "commander ", "musl", "GNU C Library"])
    expect(licences).toContain(`\n${name}`);
});

/** Warnings about the machine fail doctor, and its findings are on stdout all the same. */
function stdoutOf(error: unknown): string {
  return (error as { stdout: string }).stdout;
}
