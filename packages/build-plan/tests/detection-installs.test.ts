import { expect, test } from "vitest";
import { planOf } from "./support/planned-app.ts";

function namesOf(json: object, files: Readonly<Record<string, string>> = {}): string[] {
  const whole = { scripts: { start: "node ." }, dependencies: { a: "1" }, ...json };
  return planOf({ "package.json": JSON.stringify(whole), ...files }).steps.map(({ name }) => name);
}

test.each<[string, object, Readonly<Record<string, string>>, string]>([
  [
    "pnpm by packageManager",
    { packageManager: "pnpm@10.13.1+sha512.37ebf1a5c7a30d5fabe0", dependencies: {} },
    {},
    "pnpm@10.13.1",
  ],
  ["yarn by its lockfile", { dependencies: {} }, { "yarn.lock": "" }, "yarn@1"],
  ["a script that names it", { dependencies: {}, scripts: { start: "yarn serve" } }, {}, "yarn@1"],
  [
    "a build that names it",
    { dependencies: {}, scripts: { build: "NODE_ENV=x pnpm -r build", start: "a" } },
    {},
    "pnpm@9",
  ],
  ["a Procfile that names it", { dependencies: {} }, { Procfile: "web: pnpm start\n" }, "pnpm@9"],
  [
    "a prerelease",
    { packageManager: "yarn@4.0.0-rc-1.2", dependencies: {} },
    {},
    "@yarnpkg/cli-dist@4.0.0-rc-1.2",
  ],
])("a manager is set up wherever a command names it: %s", (_, json, files, tool) => {
  const names = namesOf(json, files);
  expect(names.slice(0, 2)).toEqual(["go to /app", `npm install --global --no-audit --no-fund ${tool}`]);
});

test("a manager that no command names is not set up, and yarn of today installs before it runs a script", () => {
  expect(namesOf({ scripts: { start: "node yarn-server.js" } }).join()).not.toContain("--global");
  expect(namesOf({ packageManager: "yarn@4.5.0", dependencies: {} })).toContain("yarn install");
});

const ALL = "copy . to /app";
const copiesOf = (json: object, files: Readonly<Record<string, string>> = {}): string[] => {
  const names = namesOf(json, files);
  return names
    .slice(
      0,
      names.findIndex((name) => / (?:install|ci)(?: |$)/.test(name) && !name.includes("--global")),
    )
    .filter((name) => name.startsWith("copy"));
};

test.each<[string, object, Readonly<Record<string, string>>]>([
  ["a folder", { dependencies: { a: "file:a" } }, {}],
  ["an archive", { optionalDependencies: { a: "vendor/a.tgz" } }, {}],
  ["a patch of yarn's", { resolutions: { a: "patch:a@npm:1#./patches/a.patch" } }, {}],
  ["an override", { overrides: { a: { b: "file:./b" } } }, {}],
  ["an override of pnpm's", { pnpm: { overrides: { a: "link:../a" } } }, {}],
  ["a patch that is not there", { pnpm: { patchedDependencies: { a: "patches/a.patch" } } }, {}],
  [
    "settings with patches",
    { packageManager: "pnpm@10.1.0" },
    { "pnpm-workspace.yaml": "patchedDependencies:\n  a: patches/a.patch\n" },
  ],
  ...[
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "prepare",
    "postprepare",
    "pnpm:devPreinstall",
  ].map((name): [string, object, object & Record<string, string>] => [
    name,
    { scripts: { start: "a", [name]: "b" } },
    {},
  ]),
  ["a native part", {}, { "binding.gyp": "{}" }],
  ["hooks of pnpm", {}, { "pnpm-lock.yaml": "", ".pnpmfile.cjs": "" }],
  ["a schema of prisma", { dependencies: { "@prisma/client": "5" } }, { "prisma/schema.prisma": "" }],
  ["an authority", {}, { ".npmrc": "registry=https://a/\ncafile=certs/ca.pem\n" }],
  ["yarn's own program", {}, { "yarn.lock": "", ".yarnrc": 'yarn-path ".yarn/releases/yarn.cjs"\n' }],
  ["a plugin elsewhere", {}, { "yarn.lock": "", ".yarnrc.yml": "plugins:\n  - path: tools/plugin.cjs\n" }],
])("all of the source is there before an install that reads it: %s", (_, json, files) => {
  expect(copiesOf(json, files)).toEqual([ALL]);
});

test.each<[string, object, Readonly<Record<string, string>>, string[]]>([
  [
    "pnpm's patches",
    { pnpm: { patchedDependencies: { "a@1": "./patches/a@1.patch" } } },
    { "pnpm-lock.yaml": "", "patches/a@1.patch": "" },
    ["package.json", "pnpm-lock.yaml", "patches/a@1.patch"],
  ],
  [
    "yarn's folder",
    {},
    {
      "yarn.lock": "",
      ".yarnrc.yml": "yarnPath: .yarn/releases/yarn.cjs\nnpmRegistryServer: https://a/b\n",
      ".yarn/releases/yarn.cjs": "",
    },
    ["package.json", "yarn.lock", ".yarnrc.yml", ".yarn"],
  ],
  [
    "settings alone",
    { packageManager: "pnpm@10.1.0", dependencies: { a: "npm:b@1", c: "https://d/e.tgz", f: "g/h" } },
    {
      "pnpm-workspace.yaml": "onlyBuiltDependencies:\n  - esbuild\n",
      "pnpm-lock.yaml": "",
      ".npmrc": "//a/:_authToken=${T}\n",
    },
    ["package.json", "pnpm-lock.yaml", ".npmrc", "pnpm-workspace.yaml"],
  ],
])("what an install reads is copied by its name: %s", (_, json, files, copied) => {
  expect(copiesOf(json, files)).toEqual(copied.map((path) => `copy ${path} to /app/${path}`));
});

test.each<[string, boolean]>([
  ...["-r base.txt", "-c limits.txt", "-e .", "--find-links wheels", ".", "./a", "../a[b]", "/a/b.whl"].map(
    (one): [string, boolean] => [one, true],
  ),
  ...["a @ file:b", "a[b] @ file:///c", "a @ ./b", "b.whl", "vendor/a.tar.gz", "file:a", "a==${B}"].map(
    (one): [string, boolean] => [one, true],
  ),
  ...[
    "a",
    "a==1 # ./b",
    "a[b]>=1,<2; python_version < '4'",
    "a @ https://b/c.whl",
    "a @ git+https://b/c",
    "git+https://a/b@c#egg=d",
  ].map((one): [string, boolean] => [one, false]),
  ...["https://a/b.whl", "# -r base.txt", ""].map((one): [string, boolean] => [one, false]),
])("whether pip reads the source for %j: %s", (line, needsSource) => {
  const { steps } = planOf({ "requirements.txt": `flask\n${line}\n`, "main.py": "" });
  expect(steps[2]?.name).toBe(needsSource ? ALL : "copy requirements.txt to /app/requirements.txt");
});

test("folders of a Pipfile are there before it installs", () => {
  const { steps } = planOf({
    Pipfile: '[packages]\na = {path = ".", editable = true}\n',
    "Pipfile.lock": "{}",
    "main.py": "",
  });
  expect(steps[2]?.name).toBe(ALL);
});
