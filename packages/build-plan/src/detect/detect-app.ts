// What a folder holds, and how it is built, installed and started. Providers are asked in a fixed order, and the first that knows the folder
// decides; a Procfile then has the last word about what is started.

import { SkerryError } from "@skerry/contract/errors";
import type { ContextFiles, DetectedApp } from "../build-plan.ts";
import { detectNode } from "./detect-node.ts";
import { detectPython, PYTHON_ENTRIES } from "./detect-python.ts";
import { detectStatic } from "./detect-static.ts";
import type { FoundApp } from "./found-app.ts";
import { textOf } from "./manifests.ts";
import { readProcfile } from "./procfile.ts";

/** What a detected app is to listen to: it is told by the variable `PORT`. */
const APP_PORT = 8_080;

const DOCKERFILE = "Dockerfile";

/** The files that are read before a folder is planned. */
export const DETECTED_FILES: readonly string[] = [
  ...["package.json", "requirements.txt", "pyproject.toml", "Pipfile", "Procfile"],
  ...[".nvmrc", ".node-version", ".tool-versions", ".python-version", "runtime.txt"],
  ...[".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml"],
  ...PYTHON_ENTRIES,
];

/** Files of a context beyond this are not looked at for detection. */
const FILES_MAX = 100_000;

/** What this folder is. Throws `app_not_detected` where it says nothing, and `invalid_build` where a file of it has a fault. */
export function detectApp(found: ContextFiles): DetectedApp {
  if (found.files.length > FILES_MAX)
    throw new SkerryError(
      "invalid_build",
      `The folder has ${found.files.length} files, and ${FILES_MAX} may be detected.`,
      { remediation: "Name what is not needed in .dockerignore, or write a Dockerfile." },
    );
  if (!found.files.includes(DOCKERFILE)) return knownApp(found) ?? throwNothingFound(found);
  return besideDockerfile(() => knownApp(found));
}

function knownApp(found: ContextFiles): DetectedApp | undefined {
  const app = detectNode(found) ?? detectPython(found) ?? detectStatic(found);
  return app && started(found, app);
}

/**
 * An app counts more than a Dockerfile, because the folder says more of it; either way the plan says which
 * was taken.
 */
function besideDockerfile(detect: () => DetectedApp | undefined): DetectedApp {
  try {
    const app = detect();
    if (app !== undefined) return { ...app, why: [UNUSED, ...app.why] };
  } catch (error) {
    if (!(error instanceof SkerryError)) throw error;
    throw new SkerryError(error.code, error.message, {
      remediation: `${error.remediation ?? ""} Or ${BUILD}: there is a ${DOCKERFILE}.`.trimStart(),
      ...(error.context !== undefined && { context: error.context }),
    });
  }
  return {
    request: { dockerfile: {} },
    processes: [],
    why: [`There is a ${DOCKERFILE}, and buildah builds it.`],
  };
}

const BUILD = `build with --dockerfile ${DOCKERFILE} (\`dockerfile\` in the API)`;
const UNUSED = `There is a ${DOCKERFILE} too, and it is not used. To use it, ${BUILD}.`;

/**
 * With variables of one's own, which count more than those that were detected. Steps see them too: an install may need where to install from. An app that is
 * told another `PORT` is ready when it listens there.
 */
export function withEnv(app: DetectedApp, env: Readonly<Record<string, string>> | undefined): DetectedApp {
  if (env === undefined) return app;
  const { steps, start, env: detected } = app.request;
  const port = Number(env["PORT"]);
  const isLed = start?.ready?.port === APP_PORT && Number.isInteger(port) && port > 0 && port < 65_536;
  return {
    ...app,
    request: {
      ...app.request,
      // The template keeps what its steps see. Only over detected variables does it have to be said again.
      ...((steps === undefined || detected !== undefined) && { env: { ...detected, ...env } }),
      ...(steps !== undefined && { steps: [{ env }, ...steps] }),
      ...(isLed && { start: { ...start, ready: { ...start.ready, port } } }),
    },
  };
}

function started(found: ContextFiles, app: FoundApp): DetectedApp {
  const procfile = textOf(found, "Procfile");
  const groups = procfile === undefined ? [] : readProcfile(procfile);
  const own = groups.find(({ name }) => name === "web") ?? groups.find(({ name }) => name === "worker");
  const command = own?.command ?? app.command;
  if (command === undefined)
    throw new SkerryError("app_not_detected", "Nothing says how this app is started.", {
      remediation: `${app.startRemedy} Or write a Procfile with a line such as \`web: COMMAND\`.`,
    });
  const isServer = own === undefined || own.name === "web";
  return {
    request: {
      from: app.template,
      steps: app.steps,
      env: { PORT: String(APP_PORT), ...app.env },
      start: { command, ...(isServer ? { ready: { port: APP_PORT } } : {}) },
    },
    processes: groups.filter((group) => group !== own),
    why: [
      ...app.why,
      own === undefined
        ? `\`${command}\` starts it.`
        : `The Procfile's \`${own.name}\` starts it: \`${own.command}\`.`,
      ...(isServer ? [`It is ready once it listens to port ${APP_PORT}, which it finds in $PORT.`] : []),
    ],
  };
}

function throwNothingFound({ files }: ContextFiles): never {
  const below = [
    ...new Set(
      files.flatMap((file) =>
        /^[^/]+\/(package\.json|requirements\.txt|pyproject\.toml|Pipfile|index\.html|Dockerfile)$/.test(file)
          ? [file.slice(0, file.indexOf("/"))]
          : [],
      ),
    ),
  ].toSorted();
  const looked =
    "package.json, requirements.txt, pyproject.toml, Pipfile, manage.py, " +
    `${PYTHON_ENTRIES.filter((file) => !file.includes("/")).join(", ")}, index.html, public/index.html, dist/index.html and ${DOCKERFILE}`;
  const apps = below.slice(0, 5).map((folder) => `${folder}/`);
  throw new SkerryError(
    "app_not_detected",
    `Nothing in this folder says what it is: there is none of ${looked}.`,
    {
      remediation:
        apps.length === 0
          ? "Build the folder that the app is in, or write a Dockerfile."
          : `Build a folder below it that has one: ${apps.join(", ")}.`,
    },
  );
}
