// Which template `create` takes when none is named, and what its first use means.

import type { Skerry } from "@skerry/sdk";
import { noneIfForbidden } from "../../errors/forbidden.ts";
import { DEFAULT_SIZE } from "@skerry/contract/sizes";
import { CliError, exitCodes } from "../../errors/errors.ts";

const USUAL = "base";

/** The one of the flag or of the argument; without both the only one that there is, or `base`. */
export async function chosenTemplate(
  { templates }: Skerry,
  named: { readonly flag: string | undefined; readonly argument: string | undefined },
  signal: AbortSignal,
): Promise<string> {
  const { flag, argument } = named;
  if (flag !== undefined && argument !== undefined && flag !== argument)
    throw new CliError("invalid_input", `Two templates are named: ${argument} and ${flag}.`, {
      remediation: "Leave one of them out.",
      exitCode: exitCodes.usage,
    });
  const chosen = flag ?? argument;
  if (chosen !== undefined) return chosen;
  const known = await templates.list({ signal }).catch(noneIfForbidden);
  // A token for sandboxes alone cannot look; the server says whether there is such a template.
  if (known === undefined) return USUAL;
  const only = known.length === 1 ? known[0]?.name : known.find(({ name }) => name === USUAL)?.name;
  if (only !== undefined) return only;
  throw new CliError("no_template", "Name a template: there is none that is meant without a name.", {
    remediation: "`skerry template list` shows them.",
    exitCode: exitCodes.usage,
  });
}

/** Why a creation may take long. Only the host knows whether it freezes the template for this one. */
export function firstUseHint(size = DEFAULT_SIZE): string {
  return `a host starts the microVM; if ${size} is new there, it freezes the template first`;
}
