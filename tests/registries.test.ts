// Images of registries, pulled by real builds in real microVMs: with a login or a token, by an authority of one's own, and of registries that
// mean harm. What a build logs in with is looked for everywhere afterwards.

import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Build, BuildRequest } from "../packages/sdk/src/skerry.ts";
import { eagerServices, startPlatform, type Platform } from "./support/platform.ts";
import { World } from "./support/world.ts";

const TIMEOUT_MS = 900_000;
const REGISTRY = "203.0.113.20:5000";
const HOSTILE = "203.0.113.20:5001";
const PASSWORD = "a-password-that-is-nowhere-else";
/** Of `builder` and this password, by bcrypt, which is all that docker-registry takes. */
const HTPASSWD = "builder:$2b$04$UteqvNWfofmFujKlG5viSeoErKUokIY5MZ0xVfpe12euSY1SsuMym";
const alone = { size: "shared-cpu-1x" } as const;

let folder: string;
let world: World;
let platform: Platform;

const openssl = (...args: readonly string[]): void =>
  void execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });

async function makeCertificates(): Promise<void> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await writeFile(join(folder, "names"), "subjectAltName=IP:203.0.113.20\n");
  openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test");
  openssl("req", ...key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=registry");
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
  openssl("x509", "-req", "-in", "request.pem", "-out", "cert.pem", "-days", "2", ...signed);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-test-registries-"));
  await chmod(folder, 0o755);
  await makeCertificates();
  await writeFile(join(folder, "htpasswd"), HTPASSWD);
  await writeFile(join(folder, "login"), `builder:${PASSWORD}`);
  const servers = join(import.meta.dirname, "support/registry-servers.ts");
  // A namespace of processes, so that docker-registry ends with it.
  const apart = ["unshare", "--pid", "--fork", "--kill-child=KILL"];
  world = await World.open([...apart, process.execPath, servers, folder]);
  platform = await startPlatform({
    assets: inject("assets"),
    env: { ...eagerServices, SKERRY_WARM_MAX: "0", SKERRY_REGISTRY_CA: join(folder, "ca.pem") },
  });
}, TIMEOUT_MS);

afterAll(async () => {
  await platform.stop();
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function build(request: BuildRequest, context?: Uint8Array<ArrayBuffer>): Promise<[Build, string]> {
  const lines: string[] = [];
  const ended = await platform.client.templates.build(
    { ...alone, ...request },
    { ...(context !== undefined && { context }), onLine: ({ text }) => void lines.push(text) },
  );
  return [ended, lines.join("\n")];
}

/** Files of the platform in which this is: state of the host, layers, logs, and the database as it lies on the disk. */
function filesWith(text: string): string {
  try {
    return execFileSync("grep", ["-rlaF", text, platform.state], { encoding: "utf8" });
  } catch {
    return "";
  }
}

test(
  "an image of a registry that asks who is there becomes a template, and what the build logged in with is nowhere",
  async () => {
    const image = `${REGISTRY}/team/app:1`;
    const [refused] = await build({ name: "app", image });
    expect(refused.error).toMatchObject({ code: "registry_denied" });
    await platform.client.registries.set(REGISTRY, { username: "builder", password: PASSWORD });
    const [built, log] = await build({ name: "app", image });
    expect(built, log).toMatchObject({ status: "ready", source: { image } });
    const digest = built.source?.digest ?? "";
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(log).toContain(`${image} is ${REGISTRY}/team/app@${digest}`);
    expect(await platform.client.templates.get("app")).toMatchObject({ source: { image, digest } });
    await using sandbox = await platform.client.sandboxes.create({ template: "app", timeout: "10m" });
    const said = await sandbox.execute('cat /made; pwd; echo "$GREETING"');
    expect(said).toMatchObject({ exit_code: 0, stdout: "pulled\n/srv\nfrom the image\n" });
    for (const form of [PASSWORD, Buffer.from(`builder:${PASSWORD}`).toString("base64")]) {
      expect(log).not.toContain(form);
      expect(filesWith(form)).toBe("");
    }
    // That what is there would be found.
    expect(filesWith("GREETING")).not.toBe("");
    const [byDigest] = await build({ name: "app", image: `${REGISTRY}/team/app@${digest}` });
    expect(byDigest).toMatchObject({ status: "ready", source: { digest } });
    const [none] = await build({ name: "app", image: `${REGISTRY}/team/none:1` });
    expect(none.error).toMatchObject({ code: "image_not_found" });
  },
  TIMEOUT_MS,
);

test(
  "a Dockerfile stands on an image of a registry that asks for a token, and its commands find no credentials",
  async () => {
    await platform.client.registries.set(HOSTILE, { username: "builder", password: PASSWORD });
    await writeFile(
      join(folder, "Dockerfile"),
      `ARG REPOSITORY=good
FROM ${HOSTILE}/\${REPOSITORY}:1
RUN cat /made >/again; cat /proc/*/root/run/skerry-registries/auth.json >>/again 2>/dev/null || true
`,
    );
    const context = execFileSync("tar", ["-C", folder, "-c", "Dockerfile"]);
    const [built, log] = await build({ name: "token", dockerfile: {} }, new Uint8Array(context));
    expect(built, log).toMatchObject({ status: "ready" });
    await using sandbox = await platform.client.sandboxes.create({ template: "token", timeout: "10m" });
    expect((await sandbox.execute("cat /again")).stdout).toBe("pulled\n");
  },
  TIMEOUT_MS,
);

const attacks = [
  ["lies about a layer", "lies", "image_invalid"],
  ["redirects to a private address", "redirects", "registry_unreachable"],
] as const;
/** These take as long as their builds may. */
const slowAttacks = [
  ["says nothing", "hangs", "build_timed_out"],
  ["sends without an end", "floods", "build_timed_out"],
] as const;

test.each([...attacks, ...(process.env["SKERRY_TEST_FULL"] === "1" ? slowAttacks : [])])(
  "a registry that %s fails the build",
  async (_, repository, code) => {
    await platform.client.registries.set(HOSTILE, { username: "builder", password: PASSWORD });
    const [failed, log] = await build({
      name: "hostile",
      image: `${HOSTILE}/${repository}:1`,
      timeout: code === "build_timed_out" ? "90s" : "30m",
    });
    expect(failed, log).toMatchObject({ status: "failed", error: { code } });
    // The redirect was not followed: nothing has come to the private network.
    expect(world.at("10.77.0.5")).toEqual([]);
  },
  TIMEOUT_MS,
);
