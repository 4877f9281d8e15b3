// Names and tags of templates. No schema library in here.

export const TEMPLATE_NAME_PATTERN = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";
export const TEMPLATE_TAG_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$";
export const TEMPLATE_TAG_MAX_CHARS = 128;

/** Of one version of a template. */
export const TAGS_MAX = 100;
/** What a name without a tag means. */
export const DEFAULT_TAG = "latest";

/** The built-in template whose clones carry out builds. It serves nothing else, and is not shown. */
export const BUILDER_TEMPLATE = "builder";
/** Of its own disk, on which contexts and containers' images are unpacked. */
export const BUILDER_DISK_GIB = 16;

/** The name of the disk that a group of a Dockerfile's instructions begins on, in that group's FROM. */
export const GROUP_BEFORE = "skerry-before";

/** No organization's template has one of these names, also where no host has such a template yet. */
export const reservedTemplateNames: readonly string[] = [
  "base",
  "node",
  "python",
  "node-22",
  "node-24",
  "python-3-13",
  "ci",
  "code-interpreter",
  "scratch",
  BUILDER_TEMPLATE,
  GROUP_BEFORE,
];

/** Tags of built-in templates. Each is a template of its own, with an image of its own. */
export const builtInTags: ReadonlyMap<string, string> = new Map([
  ["node:22", "node-22"],
  ["node:24", "node-24"],
  ["python:3.13", "python-3-13"],
]);

const pinnedName = new RegExp(`${TEMPLATE_NAME_PATTERN.slice(0, -1)}@sha256:[0-9a-f]{64}$`);

/** `web@sha256:HEX` as name and digest of one version, whatever its tags are. Undefined for other texts. */
export function parsePinnedName(
  text: string,
): { readonly name: string; readonly digest: string } | undefined {
  if (!pinnedName.test(text)) return undefined;
  const at = text.indexOf("@");
  return { name: text.slice(0, at), digest: text.slice(at + 1) };
}

/** `web:42` as name and tag; `web` is `web:latest`. */
export function parseTemplateName(text: string): { readonly name: string; readonly tag: string } {
  const [name = "", tag = DEFAULT_TAG] = text.split(":", 2);
  return { name, tag };
}
