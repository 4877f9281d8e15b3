// Files of an app that an install of npm, pnpm or yarn reads. Where names alone do not tell them, all files
// are copied.

import type { ContextFiles } from "../build-plan.ts";
import { isObject, objectField, ownField, stringField, textOf, type JsonObject } from "./manifests.ts";

const FILE = "package.json";
const ALL = ["."];

/** Scripts that run at an install. */
const SCRIPTS = [
  ...["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"],
  "pnpm:devPreinstall",
];

/** Files that make an install run code of the app's. */
const HOOKS = ["binding.gyp", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", ".pnpmfile.js"];

/** Packages whose own scripts, run by the install, look for files of the app: schemas, and their settings. */
const CURIOUS = [
  ...["@prisma/client", "prisma", "@sentry/cli", "lefthook", "msw", "nx", "puppeteer"],
  ...["simple-git-hooks", "zenstack"],
];

/** In the settings of managers: what leads to a file of the app. */
const LEADS: Readonly<Record<string, RegExp>> = {
  ".npmrc":
    /=[ \t]*["']?(?:\.{1,2}\/|file:)|^[ \t]*(?:\S*:)?(?:(?:ca|cert|key)file|(?:user|global)config)[ \t]*=/m,
  ".yarnrc": /^[ \t]*["']?(?:yarn-path|yarn-offline-mirror|cafile)\b|["'\s]\.{1,2}\//m,
  ".yarnrc.yml": /^[ \t]*(?:-[ \t]+)?(?:yarnPath|path|\w*FilePath)[ \t]*:[ \t]*(?!["']?(?:\.\/)?\.yarn\/)\S/m,
  "pnpm-workspace.yaml":
    /^["']?(?:patchedDependencies|pnpmfile|globalPnpmfile|cafile|overrides|configDependencies)\b/m,
};

/** Paths to copy before it; `.` is all of the app. */
export function readByInstall(
  found: ContextFiles,
  json: JsonObject,
  manifests: readonly string[],
): readonly string[] {
  if (readsMore(found, json)) return ALL;
  const patches = patchesOf(json);
  if (!patches.every((path) => found.files.includes(path))) return ALL;
  const there = [...manifests, ...Object.keys(LEADS)].filter((path) => isThere(found, path));
  return [...new Set([FILE, ...there, ...patches])];
}

function isThere({ files }: ContextFiles, path: string): boolean {
  return files.includes(path) || files.some((file) => file.startsWith(`${path}/`));
}

function readsMore(found: ContextFiles, json: JsonObject): boolean {
  const scripts = objectField(FILE, json, "scripts");
  const installed = ["dependencies", "devDependencies", "optionalDependencies"].map((name) =>
    objectField(FILE, json, name),
  );
  const changed = [
    ownField(json, "overrides"),
    ownField(json, "resolutions"),
    ownField(pnpmOf(json), "overrides"),
  ];
  return (
    SCRIPTS.some((name) => stringField(FILE, scripts, name) !== undefined) ||
    HOOKS.some((file) => found.files.includes(file)) ||
    installed.some((names) => CURIOUS.some((name) => Object.hasOwn(names, name))) ||
    [...installed, ...changed].some((one) => hasPath(one)) ||
    Object.entries(LEADS).some(([file, leads]) => leads.test(textOf(found, file) ?? ""))
  );
}

function pnpmOf(json: JsonObject): JsonObject {
  const own = ownField(json, "pnpm");
  return isObject(own) ? own : {};
}

/** A version that is a folder, an archive or a patch of the app, at any depth. */
function hasPath(wanted: unknown): boolean {
  if (typeof wanted === "string")
    return (
      /^(?:file|link|portal|patch|exec):|^\.{1,2}\/|^\/|^~\/|\.t(?:ar\.)?gz$/.test(wanted) &&
      !/^https?:/.test(wanted)
    );
  return isObject(wanted) && Object.values(wanted).some((one) => hasPath(one));
}

/** Files that pnpm is told of in package.json. */
function patchesOf(json: JsonObject): readonly string[] {
  const patched = ownField(pnpmOf(json), "patchedDependencies");
  if (!isObject(patched)) return [];
  return Object.values(patched).map((path) => (typeof path === "string" ? path.replace(/^\.\//, "") : ""));
}
