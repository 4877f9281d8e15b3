// What a restore takes from the settings in a backup: amounts, addresses and names that Skerry knows. `skerry install` writes them into the
// environment of a service that root starts, so nothing is taken that could load code there or lead elsewhere.

import { knownSettings } from "../system/known-settings.ts";
import { readSettings } from "../system/settings-file.ts";

/** No quotes, blanks alone, escapes, control characters: systemd and a terminal read it as it stands. */
const PLAIN_VALUE = /^[\w.:,*/[\] -]{0,4000}$/;
const NAME_SHOWN_CHARS = 64;

export interface TakenSettings {
  readonly taken: Readonly<Record<string, string>>;
  /** Names, of a bounded length. Their values may be secrets. */
  readonly toSetAgain: readonly string[];
  readonly dropped: readonly string[];
}

/** `SKERRY_STATE` is in neither list: it is where the backup is restored to. */
export function takeSettings(text: string): TakenSettings {
  const taken: Record<string, string> = {};
  const toSetAgain: string[] = [];
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(readSettings(text))) {
    const known = knownSettings.get(name);
    if (name === "SKERRY_STATE") continue;
    if (known !== undefined && !known.fromBackup) toSetAgain.push(name);
    else if (known !== undefined && PLAIN_VALUE.test(value)) taken[name] = value;
    else dropped.push(name.slice(0, NAME_SHOWN_CHARS));
  }
  return { taken, toSetAgain, dropped };
}
