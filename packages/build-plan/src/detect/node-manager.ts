// npm, pnpm or yarn: what an app's lockfile, or its `packageManager`, says.

import type { ContextFiles, RequestedStep } from "../build-plan.ts";
import { fileFault, stringField, type JsonObject } from "./manifests.ts";

export interface NodeManager {
  readonly name: "npm" | "pnpm" | "yarn";
  readonly why: string;
  /** What makes the manager itself be there. */
  readonly setup: readonly RequestedStep[];
  /** Files beside package.json that an install reads. */
  readonly manifests: readonly string[];
  /** With what is needed to build. */
  readonly install: string;
  readonly installForProduction: string;
  /** Takes away what was only needed to build. */
  readonly prune: readonly string[];
  /** It runs scripts of what it has installed alone, also where there is nothing to install. */
  readonly runsInstalledOnly: boolean;
  run(script: string): string;
}

/** Steps that install the package managers which these commands name. */
export function toolSteps(manager: NodeManager, commands: string): readonly RequestedStep[] {
  const others = [pnpm(undefined, undefined, ""), yarn(undefined, undefined, "")];
  const all = [manager, ...others.filter(({ name }) => name !== manager.name)];
  return all.flatMap(({ name, setup }) => (isNamed(name, commands) ? setup : []));
}

function isNamed(name: NodeManager["name"], commands: string): boolean {
  const words = {
    npm: /^$/,
    pnpm: /(?:^|[\s;&|("'`])pnp[mx](?![\w./@-])/m,
    yarn: /(?:^|[\s;&|("'`])yarn(?:pkg)?(?![\w./@-])/m,
  };
  return words[name].test(commands);
}

const LOCKFILES: Readonly<Record<string, string>> = {
  "package-lock.json": "npm",
  "npm-shrinkwrap.json": "npm",
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lockb": "bun",
  "bun.lock": "bun",
};

export function nodeManager({ files }: ContextFiles, json: JsonObject): NodeManager {
  const there = Object.keys(LOCKFILES).filter((file) => files.includes(file));
  const managers = [...new Set(there.map((file) => LOCKFILES[file]))];
  const [named, version] = namedManager(json);
  if (named === undefined && managers.length > 1)
    throw fileFault(
      there.join(" and "),
      "are of different package managers",
      "Delete the one that is not used, or name the manager by `packageManager` in package.json.",
    );
  const name = named ?? managers[0] ?? "npm";
  const lockfile = there.find((file) => LOCKFILES[file] === name);
  const why =
    lockfile === undefined
      ? `No lockfile of ${name} is there, so ${name} installs the newest versions that package.json allows.`
      : `${name} installs what ${lockfile} says.`;
  if (name === "pnpm") return pnpm(version ?? pnpmOf(files), lockfile, why);
  if (name === "yarn")
    return isModernYarn(files, version) ? modernYarn(version, lockfile, why) : yarn(version, lockfile, why);
  if (name === "npm") return npm(lockfile, why);
  throw fileFault(
    lockfile ?? "packageManager in package.json",
    `is of ${name}, which builds do not have`,
    "Use npm, pnpm or yarn, or write a Dockerfile.",
  );
}

function namedManager(json: JsonObject): readonly [name?: string | undefined, version?: string | undefined] {
  const text = stringField("package.json", json, "packageManager");
  if (text === undefined) return [];
  const match = /^(npm|pnpm|yarn|bun)@(\d{1,5}(?:\.\d{1,5}){0,2}(?:-[\w.-]{1,50})?)(?:\+[\w.]{1,200})?$/.exec(
    text,
  );
  if (match === null)
    throw fileFault(
      "package.json",
      `has a \`packageManager\` of ${JSON.stringify(text.slice(0, 100))}`,
      "It is a name and a version, such as `pnpm@9.12.0`.",
    );
  return [match[1], match[2]];
}

function npm(lockfile: string | undefined, why: string): NodeManager {
  const install = `npm ${lockfile === undefined ? "install" : "ci"} --no-audit --no-fund`;
  return {
    ...{ name: "npm", why, runsInstalledOnly: false },
    setup: [],
    manifests: ["package-lock.json", "npm-shrinkwrap.json", ".npmrc"],
    install,
    installForProduction: `${install} --omit=dev`,
    prune: ["npm prune --omit=dev --no-audit --no-fund"],
    run: (script) => (script === "start" ? "npm start" : `npm run ${script}`),
  };
}

/** The newest that the template's Node runs. */
const PNPM_DEFAULT = "9";
const YARN_DEFAULT = "1";
/** From this version on it reads settings in the file of workspaces. */
const PNPM_OF_SETTINGS = "10";

function pnpmOf(files: readonly string[]): string {
  return files.includes("pnpm-workspace.yaml") ? PNPM_OF_SETTINGS : PNPM_DEFAULT;
}

function pnpm(version = PNPM_DEFAULT, lockfile: string | undefined, why: string): NodeManager {
  const install = `pnpm install${lockfile === undefined ? "" : " --frozen-lockfile"}`;
  return {
    ...{ name: "pnpm", why, runsInstalledOnly: false },
    setup: [{ run: `npm install --global --no-audit --no-fund pnpm@${version}` }],
    manifests: ["pnpm-lock.yaml", ".npmrc"],
    install,
    installForProduction: `${install} --prod`,
    prune: ["pnpm prune --prod"],
    run: (script) => `pnpm run ${script}`,
  };
}

function yarn(version = YARN_DEFAULT, lockfile: string | undefined, why: string): NodeManager {
  const install = `yarn install --non-interactive${lockfile === undefined ? "" : " --frozen-lockfile"}`;
  return {
    ...{ name: "yarn", why, runsInstalledOnly: false },
    setup: [{ run: `npm install --global --no-audit --no-fund yarn@${version}` }],
    manifests: ["yarn.lock", ".npmrc", ".yarnrc"],
    install,
    installForProduction: `${install} --production`,
    prune: [`${install} --production --ignore-scripts --prefer-offline`],
    run: (script) => `yarn run ${script}`,
  };
}

function isModernYarn(files: readonly string[], version: string | undefined): boolean {
  return files.includes(".yarnrc.yml") || (version !== undefined && !version.startsWith("1."));
}

const MODERN_YARN_DEFAULT = "4";

/** From its second version on it is another program, under another name in the registry. */
function modernYarn(version = MODERN_YARN_DEFAULT, lockfile: string | undefined, why: string): NodeManager {
  const install = `yarn install${lockfile === undefined ? "" : " --immutable"}`;
  return {
    ...{ name: "yarn", why, runsInstalledOnly: true },
    setup: [{ run: `npm install --global --no-audit --no-fund @yarnpkg/cli-dist@${version}` }],
    manifests: ["yarn.lock", ".yarnrc.yml", ".yarn"],
    install,
    installForProduction: install,
    prune: [],
    run: (script) => `yarn run ${script}`,
  };
}
