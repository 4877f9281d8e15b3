import type { SandboxInfo } from "@skerry/sdk";

/** Names and versions; null where there are none, and where a control of a version before tells of none. */
export function secretsText(secrets: SandboxInfo["secrets"] | undefined = []): string | null {
  const texts = secrets.map(({ name, as, version }) => {
    const title = name === as ? name : `${name} as ${as}`;
    return `${title} (${version === null ? "deleted" : `version ${version}`})`;
  });
  return texts.join(", ") || null;
}
