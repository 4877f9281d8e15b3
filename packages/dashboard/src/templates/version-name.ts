// How a version of a template is called where several of its name are listed. Pure.

import type { Template } from "@skerry/sdk";
import { DEFAULT_TAG } from "@skerry/contract/templates/template-name";
import { shortId } from "../ui/text.ts";

/** `base` of what is built in, `web:42` of one that has a tag of its own, else `web:latest`, else `web` and its id. */
export function versionName({ id, name, tags, build_id: build }: Template): string {
  if (build === null) return name;
  const tag = tags.find((one) => one !== DEFAULT_TAG) ?? tags[0];
  return tag === undefined ? `${name} ${shortId(id)}` : `${name}:${tag}`;
}
