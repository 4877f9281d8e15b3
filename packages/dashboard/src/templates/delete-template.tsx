import type { Template } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded } from "../live/use-loaded.ts";
import { go } from "../router.ts";
import { Action } from "../ui/action.tsx";
import { command } from "../ui/copy-as.tsx";
import { nameOf } from "../ui/text.ts";
import { readDependents, type Dependent } from "./read-dependents.ts";
import { versionName } from "./version-name.ts";
import { requestOf } from "../ui/request-of.ts";

const NAMED_MAX = 5;

/** The question names what is in the way. */
export function DeleteTemplate({ template }: { readonly template: Template }) {
  const { id } = template;
  const found = useLoaded(`dependents ${id}`, (signal) => readDependents(template, signal));
  return (
    <Action
      label="Delete"
      danger
      needs="templates:write"
      confirm={lossOf(template, found.value?.items ?? [])}
      request={requestOf("deleteTemplate", { at: [id], cli: command("skerry template delete", id) })}
      run={async () => {
        await skerry.templates.delete(id);
        go("/templates");
      }}
    />
  );
}

function lossOf(template: Template, dependents: readonly Dependent[]): string {
  const name = versionName(template);
  if (dependents.length > 0) {
    const named = dependents.slice(0, NAMED_MAX).map((one) => `${one.noun} ${nameOf(one)}`);
    const more = dependents.length > NAMED_MAX ? ` and ${dependents.length - NAMED_MAX} more` : "";
    return `${name} cannot be deleted while these stand on it: ${named.join(", ")}${more}. Destroy them first.`;
  }
  const tags = template.tags.length === 0 ? "" : `, and ${template.tags.join(", ")} find nothing any more`;
  return `${name} is lost${tags}. Templates that were built on it stay.`;
}
