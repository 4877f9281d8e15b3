// A creation without a template, by a caller whose types are not checked.

import { SkerryInputError } from "../errors/errors.ts";

export function checkTemplate(request: unknown): void {
  const { template, snapshot, image } = (request ?? {}) as {
    readonly template?: unknown;
    /** Other products' field. */
    readonly image?: unknown;
    /** In the place of a template. */
    readonly snapshot?: unknown;
  };
  if (typeof template === "string" && template !== "") return;
  if (typeof snapshot === "string" && snapshot !== "") return;
  if (image !== undefined)
    throw new SkerryInputError(
      "`create` has no `image`: it takes the name of a template.",
      'Write `template`. A registry\'s image becomes one with `templates.build({ name: "web", image: "docker.io/library/redis:7" })`.',
    );
  throw new SkerryInputError(
    "`create` needs the name of a template.",
    'Write `create({ template: "base" })`; `templates.list()` says which templates there are.',
  );
}
