import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";

/** What the server knows of templates and sizes, for a form. An empty size is the server's default. */
export function useVmChoices(): Readonly<Record<string, readonly string[] | undefined>> {
  const templates = useLoaded("templates", (signal) => skerry.templates.list({ signal }));
  const sizes = useLoaded("sizes", (signal) => skerry.sizes.list({ signal }));
  return {
    template: templates.value?.map(({ name }) => name) ?? ["base"],
    size: sizes.value && ["", ...sizes.value.map(({ name }) => name)],
  };
}
