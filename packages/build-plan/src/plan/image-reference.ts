// References to images of registries, as requests name them.

import { SkerryError } from "@skerry/contract/errors";
import { shownLine } from "./planned-step.ts";

/** Host, port, path, tag and digest of a reference; what a shell or a transport's name would need is not among its characters. */
const REFERENCE =
  /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:\d{1,5})?(\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*){0,16}(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$/;
const REFERENCE_MAX_CHARS = 1_000;

export function checkReference(image: string): void {
  if (REFERENCE.test(image) && image.length <= REFERENCE_MAX_CHARS) return;
  throw new SkerryError("invalid_build", `${shownLine(image)} is not a reference to an image.`, {
    remediation: "A reference looks like docker.io/library/alpine:3.20, or ends with @sha256: and a digest.",
    context: { field: "image" },
  });
}

/** What is pushed has the digest that it turns out to have. */
export function checkPushReference(image: string): void {
  checkReference(image);
  if (!image.includes("@")) return;
  throw new SkerryError(
    "invalid_build",
    "What is pushed cannot be given a digest: it follows from its content.",
    {
      remediation: "Name it by a tag, as in registry.example.com/team/web:42.",
      context: { field: "image" },
    },
  );
}
