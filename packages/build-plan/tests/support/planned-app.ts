// The plan of a folder that has these files.

import { DETECTED_FILES, detectApp } from "../../src/detect/detect-app.ts";
import { planBuild } from "../../src/plan/plan-build.ts";

export function planOf(files: Readonly<Record<string, string>>) {
  const texts = Object.entries(files).filter(([name]) => DETECTED_FILES.includes(name));
  const found = { files: Object.keys(files), texts: Object.fromEntries(texts) };
  const { request, processes, why } = detectApp(found);
  return { ...planBuild(request), processes, why };
}
