// A part of the dashboard that is loaded when it is first shown. A browser breaks off what it loads when a network of its machine comes or goes, which
// on a host of microVMs happens all the time, so it is tried again. After an upgrade it is gone, and a page that is loaded anew has the new one.

import { reloadWhereReplaced } from "./served-version.ts";

const TRIES = 4;
const PAUSE_MS = 300;

export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await load();
    } catch (error) {
      if (tried === 1) await reloadWhereReplaced();
      if (tried === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tried));
    }
  }
}
