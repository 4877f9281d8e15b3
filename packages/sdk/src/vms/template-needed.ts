// A creation without a template, by a caller whose types are not checked.

import { SkerryInputError } from "../errors/errors.ts";

export function checkTemplate(request: unknown): void {
  const { template, snapshot } = (request ?? {}) as {
    readonly template?: unknown;
    /** In the place of a template. */
    readonly snapshot?: unknown;
  };
  if (typeof template === "string" && template !== "") return;
  if (typeof snapshot === "string" && snapshot !== "") return;
  throw new SkerryInputError(
    "`create` needs the name of a template.",
    'Write `create({ template: "base" })`; `templates.list()` says which templates there are.',
  );
}
