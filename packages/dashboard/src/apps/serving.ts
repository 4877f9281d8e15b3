import type { App } from "@skerry/sdk";

/** Instances that serve, and all that there are: `2 of 3`. */
export function servingText({ instances }: Pick<App, "instances">): string {
  const serving = instances.filter(({ state }) => state === "serving").length;
  return serving === instances.length ? String(serving) : `${serving} of ${instances.length}`;
}
