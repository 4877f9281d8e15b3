import type { IncomingHttpHeaders } from "node:http";

/** The first that is found: most browsers also name those that they descend from. */
const browsers = [
  [/\bEdg/, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chromium"],
  [/\bSafari\//, "Safari"],
] as const;

const systems = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Macintosh/, "macOS"],
  [/Windows/, "Windows"],
  [/Linux/, "Linux"],
] as const;

/** `Chromium on Linux`, for people who look at their tokens. Of words of our own: the header can say anything. */
export function browserName({ "user-agent": agent = "" }: IncomingHttpHeaders): string {
  const found = (all: readonly (readonly [RegExp, string])[], otherwise: string): string =>
    all.find(([pattern]) => pattern.test(agent))?.[1] ?? otherwise;
  return `${found(browsers, "unknown")} on ${found(systems, "an unknown system")}`;
}
