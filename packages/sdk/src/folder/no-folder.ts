// In the place of `folder/` where there are no files, as in browsers.

import type { DetectedApp } from "@skerry/build-plan/build-plan";
import { SkerryInputError } from "../errors/errors.ts";
import type { FolderPlan, FolderWish, ReadFolder, SentFolder } from "./read-folder.ts";

export async function readFolder(_dir: string, _wish?: FolderWish): Promise<ReadFolder> {
  throw noFolders();
}

export async function packFolder(_folder: ReadFolder, _useCache: boolean): Promise<SentFolder> {
  throw noFolders();
}

export function planShown(_app: DetectedApp): FolderPlan {
  throw noFolders();
}

function noFolders(): SkerryInputError {
  return new SkerryInputError(
    "There are no folders here to build.",
    "Build from Node, or send the files as the `context` of `templates.build`.",
    "no_folders",
  );
}
