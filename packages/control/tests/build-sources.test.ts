// Builds that clone their context themselves: what is detected in the guest becomes their steps, and what the guest says of it is bounded.

import { afterEach, expect, test } from "vitest";
import { sql } from "kysely";
import type { Build } from "@skerry/contract/builds/build";
import { SkerryError } from "@skerry/contract/errors";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import { GIT_COMMIT_FILE, GIT_FILES_FILE } from "@skerry/build-plan/scripts/builder-scripts";
import { IMAGE_CONFIG_FILE } from "@skerry/build-plan/scripts/registry-files";
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const git = "https://git.example.com/shop.git#main";
const commit = "a1".repeat(20);

afterEach(async () => {
  world.host.files.clear();
  world.host.beforeStart = async () => undefined;
  world.host.beforeDestroy = async () => undefined;
  world.host.failures.clear();
  world.host.executions.imageStep = undefined;
  await sql`delete from builds`.execute(world.db);
  world.host.vms.clear();
});

function guestHas(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    world.host.files.set(path, { size: content.length, sha256: "", mode: 0o644, content });
  }
}

function cloned(files: Readonly<Record<string, string>>): void {
  guestHas({
    [GIT_COMMIT_FILE]: `${commit}\n`,
    [GIT_FILES_FILE]: Object.keys(files)
      .map((name) => `${name}\0`)
      .join(""),
  });
  for (const [name, text] of Object.entries(files)) guestHas({ [`/context/${name}`]: text });
}

async function built(request: Record<string, unknown>): Promise<Build> {
  const { id } = await newBuild(world, { steps: undefined, git, ...request });
  await activateBuilder(world);
  return buildNow(world, id);
}

test("a repository with steps is cloned first, and the commit is kept", async () => {
  cloned({ "index.html": "hello" });
  const build = await built({ steps: [{ copy: { from: ".", to: "/srv" } }] });
  expect(build).toMatchObject({ status: "ready", commit, error: null });
  expect(build.steps.map(({ kind }) => kind)).toEqual(["git", "copy", "seal"]);
});

test("a repository's Dockerfile stands on the template that its FROM names, where that is built in", async () => {
  const targetOf = async (text: string): Promise<unknown> => {
    cloned({ Dockerfile: text });
    const { id } = await built({});
    const { rows } = await sql<{ kind: string }>`
      select target -> 'on' ->> 'kind' as kind from builds where id = ${id}`.execute(world.db);
    return rows[0]?.kind;
  };
  expect(await targetOf("FROM base\nRUN make\n")).toBe("template");
  expect(await targetOf("FROM node:20 AS build\nFROM base\nCOPY --from=build /a /b\n")).toBe("template");
  expect(await targetOf("FROM registry.example/base\nRUN make\n")).toBe("empty");
});

test("a Dockerfile that only the context has is given to buildah as that reads it, or refused with its line", async () => {
  const given = async (text: string, request = {}) => {
    cloned({ "deploy/Dockerfile": text, Dockerfile: text });
    guestHas({ [IMAGE_CONFIG_FILE]: "{}" });
    world.host.commands.length = 0;
    const { status, error } = await built(request);
    const steps = world.host.commands.map(({ env }) => env).filter((env) => "STEP_TEXT" in env);
    return { status, error, steps };
  };
  const document = "FROM base\nARG A\nCOPY <<EOF /x\n$A\nEOF\nRUN <<EOF\nmake\nEOF\n";
  const named = { from: "base", dockerfile: { path: "deploy/Dockerfile", args: { A: "1" } } };
  const plain = {
    STEP_TEXT: 'FROM base\nARG A\nCOPY --from=skerry-documents 2/EOF /x\nRUN ["/bin/sh","-c","make\\n"]\n',
    ...{ STEP_DOCUMENTS: "1", STEP_PLACE_0: "2/EOF", STEP_MODE_0: "644" },
  };
  expect(await given(document, named)).toMatchObject({
    status: "ready",
    steps: [{ ...plain, STEP_DOCUMENT_0: "1\n" }],
  });
  expect(await given(document)).toMatchObject({
    status: "ready",
    steps: [{ ...plain, STEP_DOCUMENT_0: "\n" }],
  });
  const same = "FROM base\nRUN make\n";
  expect(await given(same)).toMatchObject({
    status: "ready",
    steps: [{ STEP_TEXT: "", STEP_DOCUMENTS: "0" }],
  });
  expect(await given("FROM base\n\nCOPY --exclude=a . /b\n", named)).toMatchObject({
    ...{ status: "failed", steps: [] },
    error: {
      code: "invalid_build",
      message: "deploy/Dockerfile, line 3: COPY has `--exclude`, which builds do not have.",
    },
  });
  const long = `FROM base\nRUN <<EOF\n${"x".repeat(30_000)}\nEOF\n`;
  expect(await given(long)).toMatchObject({ status: "failed", error: { code: "invalid_build" } });
});

test("the instruction of a Dockerfile that fails is named with its line, in the error and in the log", async () => {
  guestHas({ [IMAGE_CONFIG_FILE]: "{}" });
  const printed = ["STEP 3/4: COPY b .\nSTEP 4/4: RUN make\n", "it is broken\n".repeat(100)];
  let isFirst = true;
  world.host.executions.imageStep = (execution) => {
    if (isFirst) execution.write("STEP 1/2: FROM base\nSTEP 2/2: RUN a\n");
    else for (const text of printed) execution.write(text);
    execution.end(isFirst ? 0 : 2);
    isFirst = false;
  };
  const failed = async (text: string) => {
    isFirst = true;
    cloned({ Dockerfile: "FROM base\nRUN a\nRUN make\n" });
    const { id, error } = await built({ from: "base", dockerfile: { text } });
    const log = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
    return [
      error?.code,
      error?.message,
      log.body.lines.filter(({ text: line }) => line.startsWith("--- failed")).map((one) => one.text),
    ];
  };
  const text = "ARG A\nFROM base\nARG B\nRUN a\n\nCOPY b .\nRUN make\n";
  expect(await failed(text)).toEqual([
    "build_step_failed",
    '"RUN make (Dockerfile, line 7)": The step exited with 2.',
    ["--- failed: RUN make (Dockerfile, line 7)"],
  ]);
  printed[0] = "";
  // Nothing says how far it has come.
  expect(await failed(text)).toEqual(["build_step_failed", '"COPY b . …": The step exited with 2.', []]);
});

test("what a repository is is detected in the builder, which begins anew on its template with the same commit", async () => {
  cloned({ "index.html": "hello" });
  const targets: unknown[] = [];
  world.host.beforeStart = async () => {
    const { rows } = await sql<{
      target: unknown;
      execution_id: string;
    }>`select target, execution_id from builds`.execute(world.db);
    targets.push(...rows);
  };
  const build = await built({ env: { MODE: "test" } });
  expect(build).toMatchObject({ status: "ready", commit, error: null });
  expect(build.steps.map(({ kind, status }) => [kind, status])).toEqual(
    ["git", "workdir", "run", "copy", "seal"].map((kind) => [kind, "done"]),
  );
  expect(targets).toMatchObject([
    { target: { on: { kind: "empty" } } },
    { target: { on: { kind: "template", template: "base" } } },
  ]);
  expect(new Set(targets.map((one) => (one as { execution_id: string }).execution_id)).size).toBe(2);
  const kept = world.host.templates.kept.get(String(build.template_id));
  expect(kept).toMatchObject({ env: { MODE: "test", PORT: "8080" }, workdir: "/app" });
  expect(kept?.start?.ready).toEqual({ kind: "port", port: 8080 });
});

test.each(["before the first microVM ends", "after that", "when the second one starts"])(
  "a process that dies between the two microVMs of a detected build, %s, leaves it to the next one",
  async (when) => {
    cloned({ "index.html": "hello" });
    const dies = new AbortController();
    const started: unknown[] = [];
    world.host.beforeStart = async () => {
      const { rows } = await sql<{ execution_id: string }>`select execution_id from builds`.execute(world.db);
      started.push(rows[0]?.execution_id);
      if (when === "when the second one starts" && started.length === 2) dies.abort();
    };
    world.host.beforeDestroy = async () => {
      if (when === "when the second one starts" || dies.signal.aborted) return;
      dies.abort();
      if (when === "before the first microVM ends")
        world.host.failures.set("destroy", new SkerryError("host_unavailable", "away"));
    };
    const { id } = await newBuild(world, { steps: undefined, git });
    await activateBuilder(world, dies.signal);
    const left = await buildNow(world, id);
    expect([left.status, left.commit, dies.signal.aborted]).toEqual(["queued", commit, true]);
    await eventually(
      () => world.host.vms.size === (when === "after that" ? 0 : 1),
      "the host has done as much as it was asked",
    );
    world.host.failures.clear();
    world.host.executions.imageStep = undefined;
    await activateBuilder(world);
    const build = await buildNow(world, id);
    expect(build).toMatchObject({ status: "ready", commit, error: null });
    expect(build.steps.map(({ kind }) => kind)).toEqual(["git", "workdir", "run", "copy", "seal"]);
    expect([new Set(started).size, world.host.vms.size]).toEqual([2, 0]);
  },
);

test.each([
  ["nothing that is known", { "README.md": "hello" }, "app_not_detected"],
  ["a manifest that is none", { "package.json": "{" }, "invalid_build"],
  ["a manifest without an end", { "package.json": " ".repeat(2 * 1024 * 1024) }, "context_too_large"],
  ["a path that is too long", { ["x".repeat(1_001)]: "" }, "context_too_large"],
])("%s ends the build with a reason", async (_, files, code) => {
  cloned(files);
  const build = await built({});
  expect(build).toMatchObject({ status: "failed", error: { code }, template_id: null });
  expect(world.host.vms.size).toBe(0);
});

test("a link of a repository is not followed to what it is", async () => {
  cloned({ "package.json/": "", "index.html": "hello" });
  guestHas({ "/context/package.json": '{"name": "elsewhere", "scripts": {"start": "cat /proc/kmsg"}}' });
  const build = await built({});
  expect(build).toMatchObject({ status: "failed", error: { code: "invalid_build" } });
  expect(build.error?.message).toContain("package.json cannot be read");
  cloned({ "Dockerfile/": "" });
  guestHas({ "/context/Dockerfile": "FROM base" });
  const { id } = await built({});
  const { rows } = await sql<{ kind: string }>`
    select target -> 'on' ->> 'kind' as kind from builds where id = ${id}`.execute(world.db);
  expect(rows).toEqual([{ kind: "empty" }]);
});

test("a guest that names no commit is not believed", async () => {
  cloned({ "index.html": "hello" });
  guestHas({ [GIT_COMMIT_FILE]: "'; drop table builds" });
  expect(await built({})).toMatchObject({
    status: "failed",
    commit: null,
    error: { code: "build_step_failed" },
  });
});

test.each([
  [{ git, context: true }, 400, "bad_request"],
  [{ git, image: "alpine" }, 422, "invalid_build"],
  [{ git: "file:///etc" }, 422, "invalid_build"],
  [{ git: "https://user:secret@git.example.com/shop.git" }, 422, "invalid_build"],
])("%o is refused before anything is built", async (body, status, code) => {
  const answer = await world.call("POST", "/v1/templates", { body: { name: "shop", ...body } });
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  expect(answer.text).not.toContain("secret");
});
