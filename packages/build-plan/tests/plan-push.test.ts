// What pushes a template: the steps, and the image that the first one makes, in real namespaces of this machine, on a folder instead of a disk.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chown, link, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PlannedConfig } from "../src/build-plan.ts";
import { planPush } from "../src/plan/plan-push.ts";
import { stepFault } from "../src/plan/step-fault.ts";
import { stepKeys } from "../src/plan/step-key.ts";
import { SmallRoot } from "./support/small-root.ts";

let small: SmallRoot;
beforeAll(async () => {
  small = await SmallRoot.make();
});
afterAll(() => small[Symbol.asyncDispose]());

const image = "registry.example/team/web:1";
const createdAt = new Date("2026-11-20T16:41:10.123Z");
const config: PlannedConfig = {
  ...{ env: { A: `it's "1"\n%s` }, user: "web", workdir: "/srv" },
  start: { command: "serve '$X'" },
};
const planned = (over: Partial<Parameters<typeof planPush>[0]> = {}) =>
  planPush({ template: "tpl_0", image, config, createdAt, ...over });

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

function packed() {
  const blob = ({ digest, size }: Descriptor): Buffer => {
    const bytes = readFileSync(join(small.folder, "work/blobs/sha256", digest.replace("sha256:", "")));
    expect(bytes.length).toBe(size);
    expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest);
    return bytes;
  };
  const index = JSON.parse(readFileSync(join(small.folder, "work/index.json"), "utf8")) as {
    manifests: [Descriptor];
  };
  const [digest] = index.manifests;
  const manifest = JSON.parse(blob(digest).toString()) as { config: Descriptor; layers: [Descriptor] };
  const layer = gunzipSync(blob(manifest.layers[0]));
  return { digest: digest.digest, config: JSON.parse(blob(manifest.config).toString()) as object, layer };
}

test("the image has one layer with owners, links and attributes, what holds in the template, and the same digest each time", async () => {
  const own = join(small.root, "own");
  await mkdir(own);
  await mkdir(join(small.root, "lost+found"));
  await writeFile(join(own, "file"), "kept", { mode: 0o640 });
  await link(join(own, "file"), join(own, "second"));
  await symlink("/etc/passwd", join(own, "link"));
  await chown(join(own, "file"), 1234, 1235);
  const note = "import os, sys; os.setxattr(sys.argv[1], 'user.note', b'written')";
  execFileSync("python3", ["-c", note, join(own, "file")]);
  const [pack] = planned().steps;
  if (pack === undefined) throw new Error("there is no step");
  expect(await small.run(pack)).toMatchObject({ code: 0, stderr: "" });
  const { digest, layer, config: made } = packed();
  const archive = join(small.folder, "layer.tar");
  await writeFile(archive, layer);
  const list = ["--list", "-vv", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--file", archive];
  const listed = execFileSync("tar", list, { encoding: "utf8" });
  expect(listed).toMatch(/-rw-r-----\* 1234\/1235 +4 .* \.\/own\/file\n +x: +7 user\.note\n/);
  expect(listed).toContain("./own/link -> /etc/passwd");
  expect(listed).toContain("./own/second link to ./own/file");
  expect(listed).not.toContain("lost+found");
  expect(made).toEqual({
    ...{ created: createdAt.toISOString(), architecture: "amd64", os: "linux" },
    config: {
      ...{ Env: [`A=it's "1"\n%s`], User: "web", WorkingDir: "/srv" },
      Cmd: ["/bin/sh", "-c", "serve '$X'"],
    },
    rootfs: { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(layer).digest("hex")}`] },
  });
  expect(await small.run(pack)).toMatchObject({ code: 0 });
  expect(packed().digest).toBe(digest);
});

test("a name that would delete another file in an image is refused, and no image is left", async () => {
  await writeFile(join(small.root, "own/.wh.\nevil"), "");
  const [pack] = planned().steps;
  if (pack === undefined) throw new Error("there is no step");
  const { code, stderr } = await small.run(pack);
  const exit = { exit_code: code ?? 0, signal: 0, timed_out: false, oom_killed: false };
  expect(stepFault(exit, stderr.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    code: "image_invalid",
    message: expect.stringContaining("The template has own/.wh.?evil") as string,
  });
  expect(existsSync(join(small.folder, "work/index.json"))).toBe(false);
  await rm(join(small.root, "own/.wh.\nevil"));
});

test("what holds in a template by default is what the image says", () => {
  const step = planned({ config: { env: {}, user: null, workdir: null } }).steps[0];
  expect(JSON.parse(`${step?.env["STEP_CONFIG"]}}`)).toMatchObject({
    config: { Env: [], WorkingDir: "/root" },
  });
  expect(step?.env["STEP_CONFIG"]).not.toMatch(/User|Cmd/);
});

test("a push is in no cache, and the step that knows the registry does not know the disk", () => {
  const { steps, on } = planned();
  expect(on).toEqual({ template: "tpl_0" });
  expect(steps.map(({ kind, name }) => [kind, name])).toEqual([
    ["pack", "make an image of tpl_0"],
    ["push", `skopeo copy to ${image}`],
  ]);
  expect(stepKeys(steps, { parent: "p", builder: "b", context: {} })).toEqual([null, null]);
});

test.each(["", "-x", "a b", "oci:/etc", "registry.example/app;id", `app@sha256:${"0".repeat(64)}`])(
  "%s is no name to push to",
  (wrong) => {
    expect(() => planned({ image: wrong })).toThrow(expect.objectContaining({ code: "invalid_build" }));
  },
);
