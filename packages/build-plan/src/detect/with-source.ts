import type { RequestedStep } from "../build-plan.ts";

/** These steps of an install, and then the whole folder, unless they have copied all of it already. */
export function withSource(steps: readonly RequestedStep[]): readonly RequestedStep[] {
  if (steps.some(({ copy }) => copy?.from === ".")) return steps;
  return [...steps, { copy: { from: ".", to: "/app" } }];
}
