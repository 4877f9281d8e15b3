// Why a build, or a template, is as it is. A status without a sentence does not compile.

import type { Build, Template } from "@skerry/sdk";
import type { BuildStatus } from "@skerry/contract/builds/build-status";
import { ago, sentence, since, type Because, type CommonFacts } from "./because.ts";

export function whyBuild(build: Build, facts: CommonFacts): Because {
  return { text: sentences[build.status](build, facts), leads: [] };
}

const sentences: Readonly<Record<BuildStatus, (build: Build, facts: CommonFacts) => string>> = {
  queued: (build, facts) =>
    build.waits_for_context
      ? `It has waited for its context for ${since(build.created_at, facts)}, and fails after ten minutes.`
      : `Its microVM starts, since ${since(build.created_at, facts)}.`,
  building: ({ steps }) => {
    const at = steps.findIndex(({ status }) => status === "running");
    const step = steps[at];
    return step === undefined
      ? "It is between two of its steps."
      : `Step ${at + 1} of ${steps.length} runs: ${sentence(step.name)}`;
  },
  sealing: () => "Its steps are done, and its host makes a layer of what they wrote.",
  freezing: () => "Its host starts the template once, to keep it as clones wake from it.",
  ready: (build, facts) =>
    `The template is there, since ${ago(build.finished_at ?? build.created_at, facts)}.`,
  failed: ({ error }) => error?.message ?? "It does not say why.",
  canceled: (build, facts) => `It was canceled ${ago(build.finished_at ?? build.created_at, facts)}.`,
};

export function whyTemplate({ created_at: at, tags, status }: Template, facts: CommonFacts): Because {
  const made = at === null ? `It is built in, and ${status}.` : `It was built ${ago(at, facts)}.`;
  const named = tags.length === 0 ? "" : ` Its tags are ${tags.join(", ")}.`;
  return { text: made + named, leads: [] };
}
