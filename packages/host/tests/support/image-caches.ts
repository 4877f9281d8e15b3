import { pino } from "pino";
import { ImageCache } from "../../src/templates/image-cache.ts";

/** A cache that keeps nothing. */
export const noImageCache = new ImageCache({
  folder: undefined,
  contain: "",
  dataRanges: "",
  log: pino({ level: "silent" }),
});
