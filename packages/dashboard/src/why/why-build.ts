// Why a build, or a template, is as it is. A status without a sentence does not compile.

import type { Build, Template } from "@skerry/sdk";
import type { BuildStatus } from "@skerry/contract/builds/build-status";
import { ago, sentence, since, type Because, type CommonFacts, type Lead } from "./because.ts";

export function whyBuild(build: Build, facts: CommonFacts): Because {
  return { text: sentences[build.status](build, facts), leads: leadsOf(build) };
}

function leadsOf({ id, error, template_id: template }: Build): readonly Lead[] {
  if (template !== null) return [{ label: "The version", to: `/templates/${template}` }];
  const step = error?.step ?? null;
  const log = { label: "Its log", to: `/builds/${id}` };
  return step === null
    ? [log]
    : [{ label: `The log of step ${step + 1}`, to: `/builds/${id}?step=${step + 1}` }];
}

const sentences: Readonly<Record<BuildStatus, (build: Build, facts: CommonFacts) => string>> = {
  queued: (build, facts) =>
    build.waits_for_context
      ? `It has waited for its context for ${since(build.created_at, facts)}, and fails after ten minutes.`
      : `It ${sentence(build.waits_for?.reason ?? `has waited for ${since(build.created_at, facts)}`)}`,
  building: ({ steps }) => {
    const at = steps.findIndex(({ status }) => status === "running");
    const step = steps[at];
    return step === undefined
      ? "It is between two of its steps."
      : `Step ${at + 1} of ${steps.length} runs: ${sentence(step.name)}`;
  },
  sealing: () => "Its steps are done, and its host makes a layer of what they wrote.",
  freezing: () => "Its host starts the template once, to keep it as clones wake from it.",
  ready: (build, facts) => {
    const ended = ago(build.finished_at ?? build.created_at, facts);
    return build.pushed
      ? `The registry has the image, since ${ended}.`
      : `The template is there, since ${ended}.`;
  },
  failed: ({ error, steps }, facts) => {
    if (error === null) return "It does not say why.";
    const step = error.step === null ? undefined : steps[error.step];
    const at = step?.finished_at == null ? "" : `, ${ago(step.finished_at, facts)}`;
    const where =
      step === undefined
        ? ""
        : ` It was step ${(error.step ?? 0) + 1} of ${steps.length}${at}: ${sentence(step.name)}`;
    return sentence(error.message) + where;
  },
  canceled: (build, facts) => {
    const why = build.error === null ? "" : ` ${sentence(build.error.message)}`;
    return `It was canceled ${ago(build.finished_at ?? build.created_at, facts)}.${why}`;
  },
};

const builtIn: Readonly<Record<Template["status"], string>> = {
  ready: "It is built in, and its image is there.",
  on_demand: "It is built in, and its image is built when a sandbox or a machine of it is first asked for.",
  building: "It is built in, and its image is being built on a host.",
  failed: "It is built in, and its image could not be built.",
};

function builtInText({ status, progress, waits_for: waits }: Template): string {
  const far = progress == null ? "" : ` It is at: ${sentence(progress)}`;
  const why = waits == null ? "" : ` It ${sentence(waits.reason)}`;
  return builtIn[status] + far + why;
}

export function whyTemplate(template: Template, facts: CommonFacts): Because {
  const { created_at: at, tags, build_id: build } = template;
  const made = at === null ? builtInText(template) : `It was built ${ago(at, facts)}.`;
  const named = tags.length === 0 ? "" : ` Its tags are ${tags.join(", ")}.`;
  const leads = build === null ? [] : [{ label: "Its build", to: `/builds/${build}` }];
  return { text: made + named, leads };
}
