// Images of registries, pulled by real builds in real microVMs: with a login or a token, by an authority of one's own, and of registries that
// mean harm. What a build logs in with is looked for everywhere afterwards.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { packTree } from "../packages/sdk/src/folder/tar-writer.ts";
import { contextDigests } from "../packages/sdk/src/folder/context-digests.ts";
import type { Build, BuildRequest } from "../packages/sdk/src/skerry.ts";
import { archive, dockerArchive, ociArchive } from "./support/image-archive.ts";
import { busyboxImage } from "./support/test-image.ts";
import { eagerServices, nothingWaits, startPlatform, type Platform } from "./support/platform.ts";
import { World } from "./support/world.ts";
import { fullTest } from "./support/full-test.ts";
import { isFullRun } from "./support/sampling.ts";

const TIMEOUT_MS = 900_000;
const REGISTRY = "203.0.113.20:5000";
const HOSTILE = "203.0.113.20:5001";
const PASSWORD = "a-password-that-is-nowhere-else";
/** Of `builder` and this password, by bcrypt, which is all that docker-registry takes. */
const HTPASSWD = "builder:$2b$04$UteqvNWfofmFujKlG5viSeoErKUokIY5MZ0xVfpe12euSY1SsuMym";
const alone = { size: "shared-cpu-1x" } as const;

const undo = new AsyncDisposableStack();
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
  undo.defer(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  await makeCertificates();
  await writeFile(join(folder, "htpasswd"), HTPASSWD);
  await writeFile(join(folder, "login"), `builder:${PASSWORD}`);
  const servers = join(import.meta.dirname, "support/registry-servers.ts");
  // A namespace of processes, so that docker-registry ends with it.
  const apart = ["unshare", "--pid", "--fork", "--kill-child=KILL"];
  world = undo.use(await World.open([...apart, process.execPath, servers, folder]));
  platform = undo.adopt(
    await startPlatform({
      assets: inject("assets"),
      env: {
        ...{ ...eagerServices, ...nothingWaits, SKERRY_REGISTRY_CA: join(folder, "ca.pem") },
        SKERRY_REGISTRY_MIRRORS: `docker.io=${REGISTRY}`,
      },
    }),
    (started) => started.stop(),
  );
}, TIMEOUT_MS);

afterAll(() => undo.disposeAsync());

async function build(request: BuildRequest, context?: Uint8Array<ArrayBuffer>): Promise<[Build, string]> {
  const lines: string[] = [];
  const ended = await platform.client.templates.build(
    { ...alone, ...request },
    { ...(context !== undefined && { context }), onLine: ({ text }) => void lines.push(text) },
  );
  return [ended, lines.join("\n")];
}

const emptyContext = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(execFileSync("tar", ["-c", "-T", "/dev/null"]));

/** What the layer of an image in docker-registry holds, a line for each file and attribute. */
function layerOf(digest: string | null | undefined): string[] {
  const fileOf = (name: string): string => {
    const hex = name.replace("sha256:", "");
    return join(folder, "data/docker/registry/v2/blobs/sha256", hex.slice(0, 2), hex, "data");
  };
  const { layers } = JSON.parse(readFileSync(fileOf(digest ?? ""), "utf8")) as {
    layers: { digest: string }[];
  };
  const list = ["--list", "-vv", "--gzip", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--file"];
  return execFileSync("tar", [...list, fileOf(layers[0]?.digest ?? "")], { encoding: "utf8" }).split("\n");
}

/** Whether this is in any file of the platform: state of the host, layers, logs, and the database as it lies on the disk. `tar`, because it passes
 *  over the holes of disk images, which take a search of the files themselves minutes. */
function isInFiles(text: string): boolean {
  const found =
    'tar --create --sparse --directory="$0" . 2>/dev/null | grep --text --fixed-strings --count -e "$1" || true';
  return Number(execFileSync("bash", ["-c", found, platform.state, text], { encoding: "utf8" })) > 0;
}

test(
  "an image of a registry that asks who is there becomes a template, and what the build logged in with is nowhere",
  async () => {
    const image = `${REGISTRY}/team/app:1`;
    const [refused] = await build({ name: "app", image });
    expect(refused.error).toMatchObject({ code: "registry_denied" });
    await platform.client.registries.set(REGISTRY, { username: "builder", password: PASSWORD });
    // Its step runs in another microVM than its pull.
    const [built, log] = await build({ name: "app", image, steps: [{ run: "cp /made /seen" }] });
    expect(built, log).toMatchObject({ status: "ready", source: { image } });
    const digest = built.source?.digest ?? "";
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(log).toContain(`${image} is ${REGISTRY}/team/app@${digest}`);
    expect(await platform.client.templates.get("app")).toMatchObject({ source: { image, digest } });
    await using sandbox = await platform.client.sandboxes.create({ template: "app", timeout: "10m" });
    const said = await sandbox.execute('cat /seen; pwd; echo "$GREETING"');
    expect(said).toMatchObject({ exit_code: 0, stdout: "pulled\n/srv\nfrom the image\n" });
    for (const form of [PASSWORD, Buffer.from(`builder:${PASSWORD}`).toString("base64")]) {
      expect(log).not.toContain(form);
      expect(isInFiles(form)).toBe(false);
    }
    // That what is there would be found.
    expect(isInFiles("GREETING")).toBe(true);
    const [byDigest] = await build({ name: "app", image: `${REGISTRY}/team/app@${digest}` });
    expect(byDigest).toMatchObject({ status: "ready", source: { digest } });
    const [none] = await build({ name: "app", image: `${REGISTRY}/team/none:1` });
    expect(none.error).toMatchObject({ code: "image_not_found" });
  },
  TIMEOUT_MS,
);

fullTest(
  "an image is pulled from the mirror of its registry, by its short name and in a Dockerfile, also where an option stands before --from",
  async () => {
    await platform.client.registries.set(REGISTRY, { username: "builder", password: PASSWORD });
    const [built, log] = await build({ name: "mirrored", image: "team/app:1" });
    expect(built, log).toMatchObject({ status: "ready", source: { image: "team/app:1" } });
    const text = "FROM base\nCOPY --chown=1:1 \\\n  --from=team/app:1 /made /from-mirror\n";
    const [copied, words] = await build(
      { name: "copied", dockerfile: { text }, context: true },
      emptyContext(),
    );
    expect(copied, words).toMatchObject({ status: "ready" });
    await using sandbox = await platform.client.sandboxes.create({ template: "copied", timeout: "10m" });
    expect((await sandbox.execute("stat -c %u /from-mirror; cat /from-mirror")).stdout).toBe("1\npulled\n");
  },
  TIMEOUT_MS,
);

fullTest(
  "a Dockerfile stands on an image of a registry that asks for a token, its commands find no credentials, and it is pulled once",
  async () => {
    await platform.client.registries.set(HOSTILE, { username: "builder", password: PASSWORD });
    const text = `ARG REPOSITORY=good
FROM ${HOSTILE}/\${REPOSITORY}:1
ENV PRICE='$5'
RUN cat /made >/again; cat /proc/*/root/run/skerry-registries/auth.json >>/again 2>/dev/null || true; sleep 2
RUN busybox chroot / /bin/busybox true 2>/dev/null && echo "a command leaves its root" >>/again; true
COPY note .
RUN echo "$GREETING, $PRICE" >>/again
`;
    const own = join(folder, "context");
    await mkdir(own);
    for (const [note, hits] of [
      ["one", [false, false, false]],
      ["two", [true, false, false]],
    ] as const) {
      await writeFile(join(own, "note"), note);
      const context = new Uint8Array(execFileSync("tar", ["-C", own, "-c", "note"]));
      const context_digests = await contextDigests(["note"], (await packTree(own, "")).items);
      const [built, log] = await build({ name: "token", dockerfile: { text }, context_digests }, context);
      expect(built, log).toMatchObject({ status: "ready" });
      expect(built.steps.map(({ cache_hit }) => cache_hit)).toEqual(hits);
      await using sandbox = await platform.client.sandboxes.create({ template: "token", timeout: "10m" });
      const said = await sandbox.execute(
        'cat /again note; pwd; echo "$GREETING, $PRICE"; ls -A / | grep skerry',
      );
      expect(said.stdout).toBe(`pulled\nfrom the image, $5\n${note}/srv\nfrom the image, $5\n`);
    }
  },
  TIMEOUT_MS,
);

fullTest(
  "an archive of an image becomes a template, and a second time its content is known",
  async () => {
    const image = busyboxImage("archived\n");
    const [built, log] = await build({ name: "archived", archive: true }, ociArchive([image]));
    expect(built, log).toMatchObject({
      status: "ready",
      source: { image: "archive", digest: image.manifest.digest },
    });
    await using sandbox = await platform.client.sandboxes.create({ template: "archived", timeout: "10m" });
    const said = await sandbox.execute('cat /made; pwd; echo "$GREETING"');
    expect(said).toMatchObject({ exit_code: 0, stdout: "archived\n/srv\nfrom the image\n" });
    const [again] = await build({ name: "archived", archive: true }, ociArchive([image]));
    expect(again).toMatchObject({ status: "ready", template_id: built.template_id });
    const [lied, words] = await build(
      { name: "lied", archive: true },
      ociArchive([image], Buffer.alloc(image.layer.bytes.length, "x")),
    );
    expect(lied, words).toMatchObject({ status: "failed", error: { code: "image_invalid" } });
  },
  TIMEOUT_MS,
);

fullTest(
  "a template is pushed to a registry, and the image is the template: files, owners, attributes, environment and folder",
  async () => {
    const { client } = platform;
    await client.registries.set(REGISTRY, { username: "builder", password: PASSWORD });
    const run = `export PATH=/bin; cd /srv && busybox mkdir own && echo kept >own/file && busybox chown -R 1234:1235 own &&
      busybox chmod 4750 own/file && busybox ln own/file own/second && busybox ln -s file own/link && busybox mkfifo own/pipe`;
    const [made, log] = await build(
      {
        ...{ name: "pushed", tag: "1", archive: true, steps: [{ run }] },
        ...{ env: { GREETING: "it's kept" }, workdir: "/srv/own", user: "1234" },
      },
      ociArchive([busyboxImage("made\n", "written")]),
    );
    expect(made, log).toMatchObject({ status: "ready" });
    const image = `${REGISTRY}/new/repository:1`;
    const lines: string[] = [];
    const onLine = ({ text }: { readonly text: string }): void => void lines.push(text);
    const pushed = await client.templates.push("pushed:1", { image, ...alone }, { onLine });
    expect(pushed, lines.join("\n")).toMatchObject({
      status: "ready",
      template_id: null,
      pushed: { image, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string },
    });
    const [again, words] = await build({ name: "pulled", image });
    expect(again, words).toMatchObject({ status: "ready", source: { digest: pushed.pushed?.digest } });
    const look = `pwd; echo "$GREETING"; cat file; id -u; busybox stat -c '%n %u:%g %a %h %F' file second link pipe`;
    const told: string[] = [];
    for (const template of ["pushed", "pulled"]) {
      await using sandbox = await client.sandboxes.create({ template, timeout: "10m" });
      told.push((await sandbox.execute(look)).stdout);
    }
    expect(told[0]).toContain("/srv/own\nit's kept\nkept\n1234\nfile 1234:1235 4750 2 regular file");
    expect(told[1]).toBe(told[0]);
    const onward = await client.templates.push("pulled", { image: `${REGISTRY}/new/onward:1`, ...alone });
    const listed = layerOf(pushed.pushed?.digest);
    expect(listed.join("\n")).toMatch(/1234\/1235 .*srv\/own\/file\n/);
    expect(listed.join("\n")).toMatch(/made\n.*7 user\.note\n/);
    // The root folder itself is changed by every build, while its disk is cleaned up.
    const timeless = (lines: readonly string[]): string[] =>
      lines.map((line) => (line.endsWith(" ./") ? line.replace(/[\d-]+ [\d:]+ /, "") : line));
    expect(timeless(layerOf(onward.pushed?.digest))).toEqual(timeless(listed));
    // The same version is the same image.
    const second = await client.templates.push("pushed:1", { image: `${REGISTRY}/new/again:2`, ...alone });
    expect(second.pushed?.digest).toBe(pushed.pushed?.digest);
    await client.registries.set(REGISTRY, { username: "builder", password: "another" });
    const denied = await client.templates.push("pushed:1", { image, ...alone }, { onLine });
    expect(denied, lines.join("\n")).toMatchObject({ status: "failed", error: { code: "registry_denied" } });
    const away = `203.0.113.20:5999/team/app:1`;
    const failed = await client.templates.push("pushed:1", { image: away, ...alone }, { onLine });
    expect(failed, lines.join("\n")).toMatchObject({ error: { code: "registry_unreachable" } });
    await client.registries.set(REGISTRY, { username: "builder", password: PASSWORD });
    expect(isInFiles(PASSWORD)).toBe(false);
  },
  TIMEOUT_MS,
);

const one = busyboxImage("one\n");
const two = busyboxImage("two\n");
const archives = [
  ["two images", () => ociArchive([one, two]), "image_invalid", "several images or none"],
  ["two images of Docker's", () => dockerArchive([one, two]), "image_invalid", "several images or none"],
  ["another layer", () => dockerArchive([one], two.layer.bytes), "image_invalid", "not what its digests say"],
  ["none", () => archive({ file: "text" }), "image_invalid", "neither oci-layout nor manifest.json"],
  ["half a manifest", () => archive({ "manifest.json": "[" }), "image_invalid", "is not whole"],
] as const;

fullTest.each(archives)(
  "an archive of %s fails the build, and says why",
  async (_, content, code, message) => {
    const [failed, log] = await build({ name: "hostile", archive: true }, content());
    expect(failed, log).toMatchObject({ status: "failed", error: { code } });
    expect(failed.error?.message).toContain(message);
  },
  TIMEOUT_MS,
);

fullTest(
  "what docker save writes is built, and what is no archive, or half of one, can be sent again",
  async () => {
    const { client } = platform;
    const begun = await client.templates.beginBuild({
      ...alone,
      name: "saved",
      archive: true,
      context: true,
    });
    const whole = dockerArchive([one]);
    await expect(client.builds.sendContext(begun.id, "no archive")).rejects.toMatchObject({
      code: "archive_refused",
    });
    await expect(client.builds.sendContext(begun.id, whole.slice(0, 100_000))).rejects.toMatchObject({
      code: "archive_refused",
    });
    await client.builds.sendContext(begun.id, whole);
    await expect
      .poll(async () => (await client.builds.get(begun.id)).status, { timeout: TIMEOUT_MS })
      .toBe("ready");
  },
  TIMEOUT_MS,
);

const attacks = [["lies about a layer", "lies", "image_invalid"]] as const;
/** The last two take as long as their builds may. */
const moreAttacks = [
  ["redirects to a private address", "redirects", "registry_unreachable"],
  ["says nothing", "hangs", "build_timed_out"],
  ["sends without an end", "floods", "build_timed_out"],
] as const;

test.each([...attacks, ...(isFullRun ? moreAttacks : [])])(
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
