/** Whether what a guest tells is a path below a folder: a client may join it to one of its own, so one that climbs is none. */
export function isPathBelow(path: string): boolean {
  return path.split("/").every((step) => step !== "" && step !== "." && step !== "..");
}
