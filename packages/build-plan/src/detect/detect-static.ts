// Files that a browser gets as they are.

import type { ContextFiles } from "../build-plan.ts";
import type { FoundApp } from "./found-app.ts";
import { copyStaticServer, serveFolder } from "./static-server.ts";

/** Where the page may be, the first that is there. */
const FOLDERS = ["", "public", "dist"] as const;

export function detectStatic({ files }: ContextFiles): FoundApp | undefined {
  const folder = FOLDERS.find((one) => files.includes(one === "" ? "index.html" : `${one}/index.html`));
  if (folder === undefined) return undefined;
  const page = folder === "" ? "index.html" : `${folder}/index.html`;
  const below = folder === "" ? "" : `${folder}/`;
  const isOnePage = !files.some(
    (file) =>
      file.startsWith(below) && file.endsWith(".html") && file !== page && file !== `${below}404.html`,
  );
  return {
    template: "base",
    steps: [{ workdir: "/app" }, copyStaticServer(), { copy: { from: ".", to: "/app" } }],
    env: {},
    command: serveFolder(folder === "" ? "/app" : `/app/${folder}`, isOnePage),
    startRemedy: "",
    why: [
      `Static files: there is ${page}.`,
      isOnePage
        ? "It is the only page, so it also answers paths that no file has."
        : "There are other pages, so a path that no file has is not found.",
    ],
  };
}
