// Steps that a user gave, one after the other: what sets the stage (`env`, `user`) is carried out by the steps that see it.

import type { PlannedConfig, PlannedStep, RequestedStep } from "../build-plan.ts";
import { COPY_SCRIPT, RUN_SCRIPT, WORKDIR_SCRIPT } from "../scripts/builder-scripts.ts";
import { contextPath } from "../context/context-path.ts";
import { buildStep, ownFault } from "./planned-step.ts";

const PATH_MAX_CHARS = 4_095;

/** What a step sees unless the template or the user say otherwise; `HOME` is that of its user. */
const STEP_ENV: Readonly<Record<string, string>> = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  DEBIAN_FRONTEND: "noninteractive",
};

interface Carried {
  readonly steps: readonly PlannedStep[];
  readonly config: PlannedConfig;
}

export function planSteps(requested: readonly RequestedStep[], inherited: PlannedConfig): Carried {
  let carried: Carried = { steps: [], config: inherited };
  for (const [index, step] of requested.entries()) carried = withStep(carried, step, `steps[${index}]`);
  return carried;
}

function withStep({ steps, config }: Carried, step: RequestedStep, field: string): Carried {
  const kinds = (["run", "copy", "env", "workdir", "user"] as const).filter(
    (kind) => step[kind] !== undefined,
  );
  if (kinds.length !== 1)
    throw ownFault(field, "needs exactly one of `run`, `copy`, `env`, `workdir` and `user`");
  if (step.env !== undefined)
    return { steps, config: { ...config, env: { ...config.env, ...checkedEnv(step.env, field) } } };
  if (step.user !== undefined) return { steps, config: { ...config, user: checkedUser(step.user, field) } };
  if (step.workdir !== undefined) {
    const workdir = templatePath(step.workdir, config.workdir, `${field}.workdir`);
    return { steps: [...steps, workdirStep(workdir, config)], config: { ...config, workdir } };
  }
  if (step.copy !== undefined) return { steps: [...steps, copyStep(step.copy, config, field)], config };
  return { steps: [...steps, runStep(step.run ?? "", config, field)], config };
}

function runStep(run: string, sees: PlannedConfig, field: string): PlannedStep {
  if (run.trim() === "") throw ownFault(`${field}.run`, "is empty");
  const env = checkedEnv({ ...STEP_ENV, ...sees.env }, field);
  return buildStep({
    kind: "run",
    shown: run,
    script: RUN_SCRIPT,
    variables: {
      RUN: run,
      USER: sees.user ?? "0:0",
      WORKDIR: sees.workdir ?? "/",
    },
    // In one order, so that the step is the same one however they were given.
    lists: {
      ENV: Object.keys(env)
        .toSorted()
        .map((name) => `${name}=${env[name]}`),
    },
    sees,
    inputs: [],
  });
}

function copyStep(
  { from, to }: Readonly<{ from: string; to: string }>,
  sees: PlannedConfig,
  field: string,
): PlannedStep {
  const source = contextPath(from, `\`${field}.copy.from\``);
  const path = templatePath(to, sees.workdir, `${field}.copy.to`);
  const target = to.endsWith("/") && !path.endsWith("/") ? `${path}/` : path;
  return buildStep({
    kind: "copy",
    shown: `copy ${source} to ${target}`,
    script: COPY_SCRIPT,
    variables: { FROM: source, TO: target },
    sees,
    inputs: [source],
  });
}

function workdirStep(workdir: string, sees: PlannedConfig): PlannedStep {
  return buildStep({
    kind: "workdir",
    shown: `go to ${workdir}`,
    script: WORKDIR_SCRIPT,
    variables: { WORKDIR: workdir },
    sees,
    inputs: [],
  });
}

/** Absolute, without `.` and `..`; what is relative is in the folder of the steps before, or in `/`. */
function templatePath(path: string, workdir: string | null, field: string): string {
  if (path === "" || path.length > PATH_MAX_CHARS || /[\0\n]/.test(path))
    throw ownFault(field, `is no path of 1 to ${PATH_MAX_CHARS} characters on one line`);
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${workdir ?? ""}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

function checkedUser(user: string, field: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$/.test(user)) return user;
  throw ownFault(`${field}.user`, "is no name or number of a user, or two with `:` between user and group");
}

function checkedEnv(env: Readonly<Record<string, string>>, field: string): Readonly<Record<string, string>> {
  const wrong = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name));
  if (wrong === undefined) return env;
  throw ownFault(
    `${field}.env`,
    `has ${JSON.stringify(wrong.slice(0, 100))}, which is no name of letters, digits and \`_\``,
  );
}
