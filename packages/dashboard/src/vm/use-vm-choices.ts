import { skerry } from "../api.ts";
import type { Template } from "@skerry/sdk";
import { useLoaded } from "../live/use-loaded.ts";
import { query } from "../router.ts";

export const DEFAULT_TEMPLATE = "base";

/** What the server knows of templates and sizes, for a form, and the template that is asked for. An empty size is the server's default. */
export function useVmChoices(
  asked = query.value.get("template") ?? DEFAULT_TEMPLATE,
): Readonly<Record<string, readonly string[] | undefined>> {
  const templates = useLoaded("templates", (signal) => skerry.templates.list({ signal }));
  const sizes = useLoaded("sizes", (signal) => skerry.sizes.list({ signal }));
  return {
    template: [...new Set([asked, ...(templates.value?.flatMap(namesOf) ?? [])])],
    size: sizes.value && ["", ...sizes.value.map(({ name }) => name)],
  };
}

/** Each way to ask for it by name. */
function namesOf({ name, tags, build_id: build }: Template): readonly string[] {
  return build === null ? [name] : tags.map((tag) => `${name}:${tag}`);
}
