// A part of the dashboard that is loaded when it is first shown. A browser breaks off what it loads when a network of its machine comes or goes, which
// on a host of microVMs happens all the time, so it is tried again.

const TRIES = 4;
const PAUSE_MS = 300;

export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await load();
    } catch (error) {
      if (tried === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tried));
    }
  }
}
