import fc from "fast-check";
import { expect, test } from "vitest";
import type { PlanRequest } from "../src/build-plan.ts";
import { imageConfig } from "../src/plan/image-config.ts";
import { planBuild } from "../src/plan/plan-build.ts";
import { stepFault } from "../src/plan/step-fault.ts";
import { SkerryError } from "@skerry/contract/errors";

const nothing = { env: {}, user: null, workdir: null };

test("steps see the environment, the user and the folder of those before them", () => {
  const steps = [
    { run: "one" },
    { env: { A: "1", B: "2" } },
    { user: "web:web" },
    { workdir: "/srv/./x/../site" },
    { workdir: "below" },
    { env: { B: "3" } },
    { run: "two\nthree" },
    { copy: { from: "./a//b/", to: "c/" } },
  ];
  const plan = planBuild({ steps, env: { C: "4" }, start: { command: "serve" } });
  expect(plan.on).toEqual({ template: "base" });
  expect(plan.steps.map(({ kind, name }) => `${kind}: ${name}`)).toEqual([
    "run: one",
    "workdir: go to /srv/site",
    "workdir: go to /srv/site/below",
    "run: two …",
    "copy: copy a/b to /srv/site/below/c/",
    "seal: clean up and check the disk",
  ]);
  expect(plan.steps[0]?.sees).toEqual(nothing);
  const seen = { env: { A: "1", B: "3" }, user: "web:web", workdir: "/srv/site/below" };
  expect(plan.steps[3]?.sees).toEqual(seen);
  expect(plan.steps[3]?.env).toMatchObject({
    STEP_RUN: "two\nthree",
    STEP_USER: "web:web",
    STEP_WORKDIR: "/srv/site/below",
    STEP_ENVS: "5",
    STEP_ENV_0: "A=1",
    STEP_ENV_1: "B=3",
  });
  expect(plan.steps[4]?.inputs).toEqual(["a/b"]);
  expect(plan.config).toEqual({ ...seen, env: { ...seen.env, C: "4" }, start: { command: "serve" } });
});

test("what a template says holds for the steps on it, and beneath what they say", () => {
  const inherited = { env: { PATH: "/opt/bin", A: "0" }, user: "web", workdir: "/app" };
  const plan = planBuild({ from: "web:42", steps: [{ env: { A: "1" } }, { run: "x" }] }, inherited);
  expect(plan.on).toEqual({ template: "web:42" });
  expect(plan.steps[0]?.sees).toEqual({ ...inherited, env: { PATH: "/opt/bin", A: "1" } });
  expect(plan.config).toEqual(plan.steps[0]?.sees);
});

test("nothing that a user wrote is in the text of a step's script", () => {
  const hostile = "'; reboot #$(reboot)`reboot`\\";
  const steps = [
    { run: hostile },
    { copy: { from: hostile, to: `/${hostile}` } },
    { workdir: `/${hostile}` },
  ];
  const plan = planBuild({ steps });
  for (const { command } of plan.steps) expect(command).not.toContain("reboot");
  const dockerfile = planBuild({ dockerfile: { path: hostile, args: { A: hostile } } });
  expect(dockerfile.steps[0]?.command).not.toContain("reboot");
  expect(dockerfile.steps[0]?.env).toMatchObject({ STEP_FILE: hostile, STEP_ARG_0: `A=${hostile}` });
});

test.each<[string, PlanRequest, RegExp]>([
  ["two ways", { dockerfile: {}, image: "a" }, /`dockerfile` and `image` cannot be built together/],
  [
    "a from of an image",
    { from: "base", image: "a" },
    /`from` is for `steps` and `dockerfile`, and not for `image`/,
  ],
  [
    "an archive and an image",
    { archive: true, image: "a" },
    /`image` and `archive` cannot be built together/,
  ],
  ["an archive of a repository", { archive: true, git: "https://a/b" }, /`git` and `archive` cannot be/],
  ["a from of an archive", { from: "base", archive: true }, /and not for `archive`/],
  [
    "a copy beside an archive",
    { archive: true, steps: [{ copy: { from: "a", to: "/" } }] },
    /has nothing to read/,
  ],
  ["a step of nothing", { steps: [{}] }, /steps\[0\]` needs exactly one of/],
  ["a step of two", { steps: [{ run: "a", user: "b" }] }, /needs exactly one of/],
  ["an empty command", { steps: [{ run: " " }] }, /`steps\[0\]\.run` is empty/],
  ["a NUL", { steps: [{ run: "a\0b" }] }, /has a NUL byte/],
  [
    "a long command",
    { steps: [{ run: "a".repeat(70_000) }] },
    /bytes with its environment, and may have 61440/,
  ],
  [
    "a path out of the context",
    { steps: [{ copy: { from: "a/../../b", to: "/" } }] },
    /leads out of the folder/,
  ],
  ["an absolute source", { steps: [{ copy: { from: "/etc", to: "/" } }] }, /is absolute/],
  ["an empty source", { steps: [{ copy: { from: "", to: "/" } }] }, /is empty/],
  ["a target of two lines", { steps: [{ copy: { from: "a", to: "/a\nb" } }] }, /copy\.to` is no path/],
  ["a user that is none", { steps: [{ user: "a b" }] }, /is no name or number of a user/],
  ["a variable that is none", { steps: [{ env: { "A-B": "1" } }] }, /has "A-B", which is no name/],
  ["a relative workdir", { workdir: "srv" }, /`workdir` is not an absolute path/],
  ["an image that is none", { image: "docker://alpine" }, /is not a reference to an image/],
  ["an image with a shell in it", { image: "alpine;reboot" }, /is not a reference/],
  ["a stage that is none", { dockerfile: { target: "--squash" } }, /is no name of a stage/],
  ["an argument that is none", { dockerfile: { args: { "A=B": "" } } }, /"A=B", which is no name/],
])("a request is refused with its fault: %s", (_, request, message) => {
  const attempt = () => planBuild(request);
  expect(attempt).toThrow(SkerryError);
  expect(attempt).toThrow(message);
});

test("a Dockerfile may stand on a template, which has its environment, user and folder there", () => {
  const inherited = { env: { A: "1" }, user: "web", workdir: "/srv" };
  const { on, steps } = planBuild({ from: "web:42", dockerfile: {} }, inherited);
  expect(on).toEqual({ template: "web:42" });
  expect(steps[0]?.env).toMatchObject({
    ...{ STEP_FROM: "web:42", STEP_USER: "web", STEP_WORKDIR: "/srv", STEP_ENV_0: "A=1" },
    STEP_FILE: "Dockerfile",
  });
  expect(planBuild({ dockerfile: {} }).steps[0]?.env).toMatchObject({ STEP_FROM: "" });
});

test.each([
  "alpine",
  "alpine:3.20",
  "docker.io/library/alpine:3",
  "localhost:5000/a/b_c",
  `a@sha256:${"0".repeat(64)}`,
])("an image is pulled: %s", (image) => {
  expect(planBuild({ image }).steps[0]?.env).toEqual({ STEP_IMAGE: image });
  const onIt = planBuild({ image, steps: [{ user: "app" }, { run: "true" }] });
  expect([onIt.on, onIt.steps.map(({ kind }) => kind)]).toEqual([null, ["image", "run", "seal"]]);
  expect(onIt.config.user).toBe("app");
});

test("an archive is built with what stands on it, and is known by what it holds", () => {
  const { on, steps } = planBuild({ archive: true, steps: [{ run: "true" }] });
  expect([on, steps.map(({ kind }) => kind)]).toEqual([null, ["archive", "run", "seal"]]);
  expect(steps[0]).toMatchObject({ env: {}, inputs: ["."] });
});

const exited = { exit_code: 0, signal: 0, timed_out: false, oom_killed: false };

test.each([
  [exited, "", undefined],
  [{ ...exited, oom_killed: true }, "", undefined],
  [
    { ...exited, exit_code: 3 },
    "skerry-build: disk_full: x",
    { code: "step_failed", message: "The step exited with 3." },
  ],
  [
    { ...exited, exit_code: 125 },
    "skerry-build: disk_full: it is full",
    { code: "disk_full", message: "It is full." },
  ],
  [
    { ...exited, exit_code: 125 },
    "skerry-build: step_invalid: a: b",
    { code: "step_failed", message: "A: b." },
  ],
  [
    { ...exited, exit_code: 125 },
    "skerry-build: what",
    { code: "guest_failed", message: "The builder failed." },
  ],
  [
    { ...exited, exit_code: 125 },
    "docker: no",
    { code: "step_failed", message: "The step exited with 125." },
  ],
  [
    { ...exited, exit_code: 137, oom_killed: true },
    "",
    { code: "build_out_of_memory", message: "The step needed more memory than the builder has." },
  ],
  [
    { ...exited, exit_code: 137, timed_out: true, signal: 9 },
    "",
    { code: "step_timed_out", message: "The step took too long and was ended." },
  ],
  [{ ...exited, signal: 11 }, "", { code: "step_failed", message: "The step was ended by signal 11." }],
])("how a step ended: %j %s", (exit, line, fault) => {
  expect(stepFault(exit, line)).toEqual(fault);
});

test("an image's configuration becomes that of the template", () => {
  const config = {
    User: "65534:65534",
    WorkingDir: "/srv",
    Env: ["PATH=/bin", "A=b=c", "EMPTY="],
    Entrypoint: ["/bin/serve", "--name"],
    Cmd: ["it's"],
    ExposedPorts: { "80/tcp": {} },
  };
  expect(imageConfig(JSON.stringify({ OCIv1: { config }, Docker: {} }))).toEqual({
    env: Object.fromEntries([
      ["PATH", "/bin"],
      ["A", "b=c"],
      ["EMPTY", ""],
    ]),
    user: "65534:65534",
    workdir: "/srv",
    command: String.raw`/bin/serve --name 'it'\''s'`,
  });
  expect(imageConfig("{}")).toEqual({ env: {}, user: null, workdir: "/", command: null });
  expect(imageConfig('{"OCIv1":{"config":{"Env":null,"Cmd":null}}}').command).toBeNull();
});

test.each([
  "",
  "[",
  '{"OCIv1":{"config":{"Env":"A=1"}}}',
  '{"OCIv1":{"config":{"Env":[1]}}}',
  '{"OCIv1":{"config":{"Env":["=1"]}}}',
  '{"OCIv1":{"config":{"Env":["__proto__=1"]}}}',
  // Half of a pair, which no database takes for text.
  String.raw`{"OCIv1":{"config":{"Env":["A=\ud800"]}}}`,
  String.raw`{"OCIv1":{"config":{"Env":["A=\u0000"]}}}`,
  '{"OCIv1":{"config":{"User":"a; b"}}}',
  '{"OCIv1":{"config":{"WorkingDir":"srv"}}}',
  '{"OCIv1":{"config":{"Cmd":{"0":"a"}}}}',
  JSON.stringify({ OCIv1: { config: { Env: Array.from({ length: 257 }, (_, at) => `A${at}=`) } } }),
  JSON.stringify({ OCIv1: { config: { Env: [`A=${"x".repeat(20_000)}`] } } }),
  `{"a":"${"x".repeat(2 ** 20)}"}`,
])("what is no configuration of an image is refused: %.60s", (text) => {
  expect(() => imageConfig(text)).toThrow(/^The image's configuration /);
});

test("a guest may say anything of an image", () => {
  const value = fc.jsonValue();
  const config = fc.record(
    { Env: value, Cmd: value, Entrypoint: value, User: value, WorkingDir: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        value,
        config.map((one) => ({ OCIv1: { config: one } })),
      ),
      (one) => {
        try {
          const { env, workdir } = imageConfig(JSON.stringify(one));
          expect(Object.values(env).every((text) => typeof text === "string")).toBe(true);
          expect(workdir?.startsWith("/")).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(SkerryError);
        }
      },
    ),
  );
});
