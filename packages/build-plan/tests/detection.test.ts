import fc from "fast-check";
import { expect, test } from "vitest";
import { planBuild } from "../src/plan/plan-build.ts";
import { DETECTED_FILES, detectApp } from "../src/detect/detect-app.ts";
import { isInRange } from "../src/detect/node-range.ts";
import { SkerryError } from "@skerry/contract/errors";
import { planOf } from "./support/planned-app.ts";
import appPlans from "./support/app-plans.json" with { type: "json" };
import { apps } from "./support/apps.ts";

/** What the expected plans say of a plan. */
function outlineOf(files: Readonly<Record<string, string>>): object {
  const { on, steps, config, processes, why } = planOf(files);
  const { env, start, user, workdir } = config;
  return {
    on: on?.template ?? null,
    steps: steps.map(({ name }) => name),
    env,
    ...(start === undefined ? {} : { start }),
    ...(user === null && workdir === "/app" ? {} : { user, workdir }),
    ...(processes.length === 0 ? {} : { processes }),
    why,
  };
}

function refusal(files: Readonly<Record<string, string>>): string {
  try {
    planOf(files);
  } catch (error) {
    if (error instanceof SkerryError) return `${error.code}: ${error.message} ${error.remediation ?? ""}`;
    throw error;
  }
  throw new Error("it was planned");
}

test.each(Object.entries(apps))("the plan of an app: %s", (name, { files }) => {
  expect(Object.keys(appPlans)).toEqual(Object.keys(apps));
  expect(outlineOf(files)).toEqual((appPlans as Readonly<Record<string, unknown>>)[name]);
});

test("all of the source is there before packages of it are installed", () => {
  const own = JSON.stringify({ dependencies: { own: "file:packages/own" }, scripts: { start: "node ." } });
  const { steps } = planOf({ "package.json": own, "packages/own/package.json": "{}" });
  const names = steps.map(({ name }) => name);
  expect(names.indexOf("copy . to /app")).toBeLessThan(
    names.findIndex((name) => name.startsWith("npm install")),
  );
});

test("a folder in which nothing is known is refused with what was looked for, and with folders that may be meant", () => {
  expect(refusal({ "README.md": "", "web/package.json": "{}", "api/requirements.txt": "" })).toMatch(
    /^app_not_detected: Nothing in this folder .* package\.json, requirements\.txt, .* and Dockerfile\. Build a folder below it that has one: api\/, web\/\.$/,
  );
  expect(refusal({})).toContain("write a Dockerfile");
});

test("where an app cannot be built and there is a Dockerfile too, the refusal says how to build that", () => {
  const unstarted = { "package.json": "{}" };
  expect(refusal(unstarted)).not.toContain("--dockerfile");
  expect(refusal({ ...unstarted, Dockerfile: "FROM base\n" })).toMatch(
    /^app_not_detected: .* Or build with --dockerfile Dockerfile \(`dockerfile` in the API\): there is a Dockerfile\.$/,
  );
});

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  [
    "workspaces",
    { "package.json": '{"workspaces":["a"]}' },
    /^app_not_detected: .*several packages .*workspaces/,
  ],
  [
    "pnpm's workspace",
    { "package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - 'packages/*'\n" },
    /several packages \(pnpm-workspace/,
  ],
  [
    "no start",
    { "package.json": "{}" },
    /^app_not_detected: Nothing says how .* script `start`\..* Procfile/,
  ],
  ["a Python app without a start", { "requirements.txt": "" }, /^app_not_detected: .* main\.py/],
  [
    "two managers",
    { "package.json": "{}", "yarn.lock": "", "package-lock.json": "" },
    /different package managers/,
  ],
  ["bun", { "package.json": "{}", "bun.lockb": "" }, /is of bun, .* npm, pnpm or yarn/],
  [
    "a manager that is none",
    { "package.json": '{"packageManager":"npm; reboot"}' },
    /`packageManager` of "npm; reboot"/,
  ],
  ["no JSON", { "package.json": "{" }, /^invalid_build: package\.json is no JSON/],
  ["no object", { "package.json": "[]" }, /package\.json holds no object/],
  ["scripts that are no object", { "package.json": '{"scripts":[]}' }, /`scripts` that is no object/],
  ["a script that is no string", { "package.json": '{"scripts":{"start":1}}' }, /`start` that is no string/],
  ["an empty script", { "package.json": '{"scripts":{"start":" "}}' }, /empty script `start`/],
  [
    "a long script",
    { "package.json": `{"scripts":{"start":"${"a".repeat(10_001)}"}}` },
    /more than 10000 characters/,
  ],
  [
    "a deep file",
    { "package.json": `{"a":${"[".repeat(200)}${"]".repeat(200)}}` },
    /nested more than 100 levels/,
  ],
  [
    "engines that are no range",
    { "package.json": '{"engines":{"node":"$(reboot)"}}' },
    /which is no range of versions/,
  ],
  [
    "a Procfile of other lines",
    { "index.html": "", Procfile: "web python" },
    /Procfile has in line 1 no process/,
  ],
  ["an empty Procfile", { "index.html": "", Procfile: "\n# none\n" }, /Procfile names no process/],
  ["a process twice", { "index.html": "", Procfile: "a: b\na: c\n" }, /two processes a/],
  ["a process without a command", { "index.html": "", Procfile: "web:  \n" }, /empty command of web/],
  ["a Pipfile without its lock", { Pipfile: "" }, /no Pipfile\.lock beside it/],
])("a folder is refused with its fault: %s", (_, files, message) => {
  expect(refusal(files)).toMatch(message);
});

test("files that would keep a matcher busy are read at once", () => {
  const long = (text: string) => text.repeat(1_000_000 / text.length);
  const hostile: Readonly<Record<string, string>>[] = [
    { "pyproject.toml": `[${long(" ")}` },
    { "pyproject.toml": `[${long(" a")}` },
    { "requirements.txt": long("\n") },
    { "requirements.txt": `a${long(" ")}` },
    { "requirements.txt": "fastapi", "main.py": `a:${long(" ")}` },
    { "requirements.txt": "flask", "app.py": long("a\n\n") },
    { "requirements.txt": `a${long(" ")}b` },
    { "requirements.txt": `a${long("[")}` },
    ...[".nvmrc", ".tool-versions", ".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml"].flatMap(
      (file) =>
        ["\n", " ", "= ", "a:", "a: ", "- ", '"', "packages:\n", "x\n"].map((text) => ({
          "package.json": '{"dependencies":{"a":"1"},"scripts":{"start":"a"}}',
          [file]: long(text),
        })),
    ),
    ...[".python-version", "runtime.txt", "pyproject.toml", "Pipfile"].flatMap((file) =>
      ["\n", "=", ",", "|", '"', "3."].map((text) => ({
        "main.py": "",
        [file]: `[project]\nrequires-python = "${long(text)}"\n`,
      })),
    ),
    { "package.json": JSON.stringify({ scripts: { start: long("pnpm"), build: long("yarn ") } }) },
    { Procfile: Array.from({ length: 150_000 }, (_, at) => `p${at}: x`).join("\n"), "index.html": "" },
    {
      "package.json": JSON.stringify({ engines: { node: long("<") }, scripts: { start: `x${long(" ")}x` } }),
    },
  ];
  // Each took minutes at least, so the test would be ended.
  for (const files of hostile) {
    try {
      expect(planOf(files).steps.at(-1)?.kind).toBe("seal");
    } catch (error) {
      expect(error).toBeInstanceOf(SkerryError);
    }
  }
});

test("the plan of a step shows its first line alone, however long its spaces are", () => {
  const { steps } = planBuild({ from: "base", steps: [{ run: `one  \n two${" ".repeat(9_000)}x` }] });
  expect(steps[0]?.name).toBe("one …");
});

test("a fault of JSON quotes no control character", () => {
  expect(refusal({ "package.json": "{\0}" })).toMatch(/^invalid_build: package\.json is no JSON[ -~]*$/);
});

test("a file that is too large to be read is named", () => {
  expect(() => detectApp({ files: ["package.json"], texts: {} })).toThrow(
    "package.json cannot be read, or has more than 1048576 bytes.",
  );
});

test("whatever the files hold, there is a plan or a fault with a code", () => {
  const text = fc.oneof(fc.string(), fc.json(), fc.constantFrom("", "{}", '{"__proto__":{"scripts":1}}'));
  const manifest = fc.record(
    {
      scripts: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
      engines: fc.oneof(fc.record({ node: fc.string() }), fc.jsonValue()),
      main: fc.jsonValue(),
      dependencies: fc.dictionary(fc.string(), fc.string()),
      packageManager: fc.jsonValue(),
      workspaces: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const files = fc
    .tuple(
      fc.dictionary(fc.constantFrom(...DETECTED_FILES, "yarn.lock", "index.html", "manage.py"), text),
      fc.option(
        manifest.map((one) => JSON.stringify(one)),
        { nil: undefined },
      ),
    )
    .map(([others, own]) => (own === undefined ? others : { ...others, "package.json": own }));
  fc.assert(
    fc.property(files, (one) => {
      try {
        expect(planOf(one).steps.at(-1)?.kind).toBe("seal");
      } catch (error) {
        expect(error).toBeInstanceOf(SkerryError);
        expect((error as SkerryError).message.length).toBeLessThan(1_000);
      }
    }),
    { numRuns: 500 },
  );
});

test.each<[string, boolean | undefined]>([
  ["18", true],
  ["18.x", true],
  ["v18", true],
  ["18.20.4", true],
  ["18.12.0", false],
  [">=16", true],
  [">= 18", true],
  [">=20", false],
  [">=16 <18", false],
  [">=16 <19", true],
  ["16 || 18", true],
  ["^18.17.0", true],
  ["^18.21.0", false],
  ["~18.20.1", true],
  ["~18.19", false],
  ["16 - 18", true],
  ["<18", false],
  [">18", false],
  ["<=18", true],
  ["*", true],
  ["x", true],
  ["lts/*", undefined],
  [">=*", undefined],
  ["18; reboot", undefined],
  ["$(reboot)", undefined],
])("Node 18.20.4 is in the range %s: %s", (range, expected) => {
  expect(isInRange(range, [18, 20, 4])).toBe(expected);
});
