// The text of a folder's Dockerfile, which a request holds so that the build may come apart into several steps.

import type { DetectedApp } from "@skerry/build-plan/build-plan";
import { DOCKERFILE_TEXT_MAX_CHARS } from "@skerry/contract/builds/context-bounds";
import { SkerryInputError } from "../errors/errors.ts";

/** With what the Dockerfile says, which may come apart into several steps. */
export function withText(
  app: DetectedApp,
  { text = "", isSent }: { readonly text: string | undefined; readonly isSent: boolean },
): DetectedApp {
  const { dockerfile } = app.request;
  if (text.trim() !== "" && Buffer.byteLength(text) <= DOCKERFILE_TEXT_MAX_CHARS)
    return { ...app, request: { ...app.request, dockerfile: { ...dockerfile, text } } };
  if (isSent) return app;
  throw new SkerryInputError(
    ".dockerignore leaves out the Dockerfile, which is longer than 16 KiB.",
    "Take it out of .dockerignore.",
    "dockerfile_left_out",
  );
}
