// Apps of Python: what has a list of requirements, a project file, or a file that programs are usually begun in.

import type { ContextFiles, RequestedStep } from "../build-plan.ts";
import type { FoundApp } from "./found-app.ts";
import { fileFault, textOf, tomlTables } from "./manifests.ts";
import { pythonWhy } from "./python-version.ts";
import { withSource } from "./with-source.ts";

/** Files in which an app of Python usually begins, in the order in which they are looked at. */
export const PYTHON_ENTRIES = [
  ...["main.py", "app.py", "server.py", "wsgi.py", "asgi.py", "application.py"],
  ...["src/main.py", "src/app.py", "app/main.py", "app/app.py", "app/__init__.py"],
];

const VENV = "/opt/venv";
const PATH = `${VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
const PIP = "pip install --no-cache-dir --disable-pip-version-check";

interface Requirements {
  readonly file: string;
  /** Names of what is required, in lower case. */
  readonly names: ReadonlySet<string>;
  readonly steps: readonly RequestedStep[];
}

export function detectPython(found: ContextFiles): FoundApp | undefined {
  const requirements = readRequirements(found);
  const entry = ["manage.py", ...PYTHON_ENTRIES].find(
    (file) => !file.includes("/") && found.files.includes(file),
  );
  const mark = requirements?.file ?? entry;
  if (mark === undefined) return undefined;
  const start = startOf(found, requirements?.names ?? new Set());
  const needed = (start?.needs ?? []).map((name) => ({ run: `${PIP} ${name}` }));
  return {
    template: "python",
    steps: [{ workdir: "/app" }, ...withSource([...installSteps(requirements), ...needed])],
    env: { PYTHONUNBUFFERED: "1" },
    command: start?.command,
    startRemedy: "Begin it in a file main.py or app.py.",
    why: [
      `Python: there is ${mark}.`,
      ...[pythonWhy(found)].filter((one) => one !== undefined),
      installWhy(requirements),
      ...(start?.why ?? []),
    ],
  };
}

function installSteps(requirements: Requirements | undefined): readonly RequestedStep[] {
  if (requirements === undefined) return [];
  return [{ run: `python3 -m venv ${VENV}` }, { env: { PATH } }, ...requirements.steps];
}

function installWhy(requirements: Requirements | undefined): string {
  if (requirements === undefined) return "It names no requirements, so nothing is installed.";
  return `pip installs what ${requirements.file} says, into ${VENV}.`;
}

function readRequirements(found: ContextFiles): Requirements | undefined {
  return ofRequirementsText(found) ?? ofPipfile(found) ?? ofProject(found);
}

function ofRequirementsText(found: ContextFiles): Requirements | undefined {
  const file = "requirements.txt";
  const text = textOf(found, file);
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  const needsSource = lines.some(isOfSource);
  return {
    file,
    names: namesIn(lines),
    steps: [
      { copy: needsSource ? { from: ".", to: "/app" } : { from: file, to: `/app/${file}` } },
      { run: `${PIP} -r ${file}` },
    ],
  };
}

/** A requirement that is an option (another list, a folder), a path or an archive needs all files. */
function isOfSource(line: string): boolean {
  const said = line.trim();
  if (said.startsWith("#")) return false;
  if (/^[-./~\\]|\$\{/.test(said)) return true;
  const [, address] = /^[\w.-]+\s*(?:\[[^\]]*\]\s*)?@(.*)$/.exec(said) ?? [];
  if (address !== undefined) return !/^(?:https?|(?:git|hg|bzr|svn)(?:\+[a-z]+)?):/.test(address.trim());
  const [name = ""] = said.split(/[\s;#]/, 1);
  return !/^[a-z+]+:\/\//.test(name) && /[/\\]|\.(?:whl|zip|tar\.\w+|tgz)$|^file:/.test(name);
}

function ofPipfile(found: ContextFiles): Requirements | undefined {
  const file = "Pipfile";
  const text = textOf(found, file);
  if (text === undefined) return undefined;
  if (!found.files.includes("Pipfile.lock"))
    throw fileFault(file, "has no Pipfile.lock beside it", "Run `pipenv lock`, and build again.");
  const keys = (tomlTables(text).get("packages") ?? "").split("\n").map((line) => line.split("=")[0] ?? "");
  return {
    file,
    names: namesIn(keys),
    steps: [
      ...(/(?:^|[\s{,])["']?(?:path|file)["']?\s*=/m.test(text)
        ? [{ copy: { from: ".", to: "/app" } }]
        : [file, "Pipfile.lock"].map((from) => ({ copy: { from, to: `/app/${from}` } }))),
      { run: `python3 -m venv /opt/pipenv && /opt/pipenv/bin/${PIP} pipenv` },
      {
        run: `/opt/pipenv/bin/pipenv requirements >/tmp/requirements.txt && ${PIP} -r /tmp/requirements.txt`,
      },
    ],
  };
}

function ofProject(found: ContextFiles): Requirements | undefined {
  const file = "pyproject.toml";
  const text = textOf(found, file);
  if (text === undefined) return undefined;
  const tables = tomlTables(text);
  const project = tables.get("project");
  const poetry = tables.get("tool.poetry.dependencies");
  // It may hold the settings of tools alone.
  if (project === undefined && poetry === undefined) return undefined;
  const listed = [...(project ?? "").matchAll(/["']([^"'\n]+)["']/g)].map(([, one = ""]) => one);
  const keys = (poetry ?? "").split("\n").map((line) => line.split("=")[0] ?? "");
  return {
    file,
    names: namesIn([...listed, ...keys]),
    steps: [{ copy: { from: ".", to: "/app" } }, { run: `${PIP} .` }],
  };
}

function namesIn(lines: readonly string[]): ReadonlySet<string> {
  return new Set(
    lines.flatMap((line) => {
      const name = /^\s*["']?([A-Za-z0-9][A-Za-z0-9._-]{0,99})/.exec(line)?.[1];
      return name === undefined ? [] : [name.toLowerCase().replaceAll("_", "-")];
    }),
  );
}

interface Start {
  readonly command: string;
  /** Packages that it needs and that are not among the requirements. */
  readonly needs?: readonly string[];
  readonly why?: readonly string[];
}

function startOf(found: ContextFiles, names: ReadonlySet<string>): Start | undefined {
  if (found.files.includes("manage.py")) return startOfDjango(found, names);
  if (names.has("fastapi") || names.has("starlette")) return startOfFastApi(found, names);
  if (names.has("flask")) return startOfFlask(found, names);
  const entry = PYTHON_ENTRIES.find((file) => !file.endsWith("__init__.py") && found.files.includes(file));
  return entry === undefined ? undefined : { command: `exec python3 ${entry}` };
}

function startOfDjango({ files }: ContextFiles, names: ReadonlySet<string>): Start {
  const project = files.flatMap((file) => /^([A-Za-z_]\w*)\/wsgi\.py$/.exec(file)?.[1] ?? [])[0];
  if (project !== undefined && names.has("gunicorn"))
    return {
      command: `exec gunicorn --bind 0.0.0.0:$PORT ${project}.wsgi`,
      why: [`Django: there is manage.py, and gunicorn serves ${project}/wsgi.py.`],
    };
  return {
    command: "exec python3 manage.py runserver --noreload 0.0.0.0:$PORT",
    why: [
      "Django: there is manage.py. Add gunicorn to the requirements for a server that is meant for more than development.",
    ],
  };
}

function startOfFastApi(found: ContextFiles, names: ReadonlySet<string>): Start {
  const app = appObject(
    found,
    /^([A-Za-z_]\w*)\s*(?::\s*[\w.]+\s*)?=\s*(?:fastapi\.)?(?:FastAPI|Starlette)\(/m,
  );
  const start = {
    command: `exec uvicorn --host 0.0.0.0 --port $PORT ${app}`,
    why: [`FastAPI: uvicorn serves ${app}.`],
  };
  return names.has("uvicorn") ? start : { ...start, needs: ["uvicorn"] };
}

function startOfFlask(found: ContextFiles, names: ReadonlySet<string>): Start {
  const app = appObject(found, /^([A-Za-z_]\w*)\s*(?::\s*[\w.]+\s*)?=\s*(?:flask\.)?Flask\(/m);
  if (names.has("gunicorn"))
    return { command: `exec gunicorn --bind 0.0.0.0:$PORT ${app}`, why: [`Flask: gunicorn serves ${app}.`] };
  return {
    command: `exec flask --app ${app} run --host 0.0.0.0 --port $PORT`,
    why: [
      `Flask: its own server serves ${app}. Add gunicorn to the requirements for one that is meant for more than development.`,
    ],
  };
}

/** `MODULE:NAME` of what the first file makes that makes one; where none is seen, what the first file is usually called by. */
function appObject(found: ContextFiles, made: RegExp): string {
  const there = PYTHON_ENTRIES.filter((file) => found.files.includes(file));
  for (const file of there) {
    const name = made.exec(textOf(found, file) ?? "")?.[1];
    if (name !== undefined) return `${moduleOf(file)}:${name}`;
  }
  return `${moduleOf(there[0] ?? "main.py")}:app`;
}

function moduleOf(file: string): string {
  return file.replace(/(\/__init__)?\.py$/, "").replaceAll("/", ".");
}
