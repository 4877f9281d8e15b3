// From a request to the steps that carry it out. Pure: the same request and the same files have the same plan, here and in the command line.

import { SkerryError } from "@skerry/contract/errors";
import { GROUP_BEFORE } from "@skerry/contract/templates/template-name";
import type { BuildPlan, PlannedConfig, PlannedStep, PlanRequest } from "../build-plan.ts";
import { contextPath } from "../context/context-path.ts";
import { readGitSource } from "../context/git-source.ts";
import { dockerfileGroups, type DockerfileGroup } from "../dockerfile/dockerfile-groups.ts";
import { documentLists } from "../dockerfile/dockerfile-step.ts";
import { plainDockerfile, type DockerfileParts } from "../dockerfile/plain-dockerfile.ts";
import { checkReference } from "./image-reference.ts";
import { buildStep, ownFault, sealStep } from "./planned-step.ts";
import { planSteps } from "./plan-steps.ts";
import { ARCHIVE_SCRIPT, DOCKERFILE_SCRIPT, GIT_SCRIPT, IMAGE_SCRIPT } from "../scripts/builder-scripts.ts";

const DEFAULT_TEMPLATE = "base";
const EMPTY: PlannedConfig = { env: {}, user: null, workdir: null };

/**
 * The plan of this request. `inherited` is what holds for the template that `steps` stand on. Throws `invalid_build` for what cannot be built.
 */
export function planBuild(request: PlanRequest, inherited: PlannedConfig = EMPTY): BuildPlan {
  refuseSeveral(request);
  const plan = isUndetected(request) ? UNDETECTED : planOf(request, inherited);
  const cloned = request.git === undefined ? [] : [gitStep(request.git, request.commit ?? "")];
  return { ...plan, steps: [...cloned, ...plan.steps], config: withOwn(plan.config, request) };
}

/** Whether what is built shows only when it has been cloned: its plan is as yet that alone. */
export function isUndetected({ git, steps, dockerfile }: PlanRequest): boolean {
  return git !== undefined && steps === undefined && dockerfile === undefined;
}

const UNDETECTED: BuildPlan = { on: null, steps: [], config: EMPTY };

function gitStep(source: string, commit: string): PlannedStep {
  const { url, ref, folder } = readGitSource(source);
  return buildStep({
    kind: "git",
    shown: `clone ${source}`,
    script: GIT_SCRIPT,
    variables: { URL: url, REF: ref, FOLDER: folder, COMMIT: commit },
    sees: EMPTY,
    inputs: [],
  });
}

function planOf(request: PlanRequest, inherited: PlannedConfig): BuildPlan {
  if (request.dockerfile !== undefined) return planDockerfile(request.dockerfile, request.from, inherited);
  if (request.image !== undefined) return planImage(request.image, request.steps ?? []);
  if (request.archive === true) return planArchive(request.steps ?? []);
  const { steps, config } = planSteps(request.steps ?? [], inherited);
  return {
    on: { template: request.from ?? DEFAULT_TEMPLATE },
    steps: [...steps, sealStep()],
    config,
  };
}

function refuseSeveral(request: PlanRequest): void {
  const { steps, dockerfile, image, from, git } = request;
  const archive = request.archive === true ? true : undefined;
  const made = image ?? archive;
  const noun = image === undefined ? "archive" : "image";
  // Steps stand on an image as they do on a template.
  if (git !== undefined && made !== undefined)
    throw new SkerryError("invalid_build", `\`git\` and \`${noun}\` cannot be built together.`, {
      remediation: "Give one of them.",
    });
  const ways = { steps: made === undefined ? steps : undefined, dockerfile, image, archive };
  const given = Object.entries(ways).flatMap(([name, value]) => (value === undefined ? [] : [`\`${name}\``]));
  if (given.length > 1)
    throw new SkerryError("invalid_build", `${given.join(" and ")} cannot be built together.`, {
      remediation: "Give one of them; a build may stand on the template that another has made.",
    });
  if (from !== undefined && made !== undefined)
    throw new SkerryError(
      "invalid_build",
      `\`from\` is for \`steps\` and \`dockerfile\`, and not for \`${noun}\`.`,
      { remediation: "Leave `from` out." },
    );
  if (archive !== undefined) refuseCopies(steps ?? []);
}

function refuseCopies(steps: NonNullable<PlanRequest["steps"]>): void {
  if (steps.every(({ copy }) => copy === undefined)) return;
  throw new SkerryError(
    "invalid_build",
    "A `copy` on an `archive` has nothing to read: that is the context.",
    {
      remediation: "Build the archive first, and a template from it with the steps.",
      context: { field: "steps" },
    },
  );
}

/** Over what the steps have come to lies what the request says. */
function withOwn(config: PlannedConfig, request: PlanRequest): PlannedConfig {
  if (request.workdir !== undefined && !request.workdir.startsWith("/"))
    throw ownFault("workdir", "is not an absolute path");
  const start = request.start ?? config.start;
  return {
    env: { ...config.env, ...request.env },
    user: request.user ?? config.user,
    workdir: request.workdir ?? config.workdir,
    ...(start === undefined ? {} : { start }),
  };
}

/**
 * With `from`, which is what `FROM` of that name in it means, it is built on that template's disk, and what was there is gone afterwards. Its text, where the
 * request has that, may come apart into several steps.
 */
function planDockerfile(
  { path = "Dockerfile", target = "", text, args = {} }: NonNullable<PlanRequest["dockerfile"]>,
  from: string | undefined,
  inherited: PlannedConfig,
): BuildPlan {
  const file = contextPath(path, "`dockerfile.path`");
  if (target !== "" && !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$/.test(target))
    throw ownFault("dockerfile.target", "is no name of a stage");
  const shown = `buildah build --file ${file}${target === "" ? "" : ` --target ${target}`}`;
  const template = from === undefined ? undefined : { name: from, config: inherited };
  const groups = groupsOf(text, shown, { file, args, template });
  const ARG = Object.entries(args).map(([name, value]) => `${argumentName(name)}=${value}`);
  const steps = groups.map((group, index) => {
    const on = index === 0 ? { from: from ?? "", ...inherited } : { from: GROUP_BEFORE, ...EMPTY };
    return buildStep({
      kind: "dockerfile",
      shown: group.shown,
      script: DOCKERFILE_SCRIPT,
      variables: {
        ...{ FILE: file, TEXT: group.text, TARGET: target },
        ...{ FROM: on.from, USER: on.user ?? "", WORKDIR: on.workdir ?? "/" },
        IS_LAST: index === groups.length - 1 ? "1" : "",
      },
      lists: {
        ...{ ARG, ENV: Object.entries(on.env).map(([name, value]) => `${name}=${value}`) },
        ...documentLists(group.documents),
      },
      sees: inherited,
      inputs: group.inputs,
    });
  });
  return {
    on: from === undefined ? null : { template: from },
    steps: [...steps, sealStep()],
    config: EMPTY,
  };
}

/** One alone where it is not taken apart, or its text is not there yet. */
function groupsOf(
  text: string | undefined,
  shown: string,
  parts: DockerfileParts,
): readonly Omit<DockerfileGroup, "carried">[] {
  if (text === undefined) return [{ text: "", documents: [], shown, inputs: ["."] }];
  const plain = plainDockerfile(text, parts);
  const documents = plain.instructions.flatMap((one) => one.documents);
  return dockerfileGroups(plain) ?? [{ text: plain.text, documents, shown, inputs: ["."] }];
}

function argumentName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) return name;
  throw ownFault(
    "dockerfile.args",
    `has ${JSON.stringify(name.slice(0, 100))}, which is no name of a variable`,
  );
}

/** What the image says of its environment is known when it is there, so the steps do not see it. */
function planImage(image: string, requested: NonNullable<PlanRequest["steps"]>): BuildPlan {
  checkReference(image);
  const step = buildStep({
    kind: "image",
    shown: `buildah pull ${image}`,
    script: IMAGE_SCRIPT,
    variables: { IMAGE: image },
    sees: EMPTY,
    inputs: [],
  });
  const { steps, config } = planSteps(requested, EMPTY);
  return { on: null, steps: [step, ...steps, sealStep()], config };
}

/** It is the context, so its step is known by what that holds. */
function planArchive(requested: NonNullable<PlanRequest["steps"]>): BuildPlan {
  const step = buildStep({
    kind: "archive",
    shown: "buildah pull the uploaded archive",
    script: ARCHIVE_SCRIPT,
    variables: {},
    sees: EMPTY,
    inputs: ["."],
  });
  const { steps, config } = planSteps(requested, EMPTY);
  return { on: null, steps: [step, ...steps, sealStep()], config };
}
