// What hands out the clients. They are the same for all callers and tell nothing of any user; a caller who fetches one has no token yet.

import { Type } from "typebox";
import type { Operations } from "../api/operation.ts";
import { fileAnswer, webFile } from "../api/web-file.ts";

export const clientOperations = {
  getSdk: {
    ...webFile,
    path: "/sdk.tgz",
    summary: "Get the TypeScript client as an npm package",
    answers: fileAnswer("The package.", "application/gzip"),
  },
  getCli: {
    ...webFile,
    path: "/cli",
    summary: "Get the command line as one file for Node",
    answers: fileAnswer("The program.", "text/javascript"),
  },
  getCliPackage: {
    ...webFile,
    path: "/cli.tgz",
    summary: "Get the command line as an npm package",
    answers: fileAnswer("The package.", "application/gzip"),
  },
  getWheel: {
    ...webFile,
    path: "/skerry.whl",
    summary: "Be sent to the Python client",
    description: "302 to the file's own address, whose last part pip reads.",
    answers: fileAnswer("The wheel.", "application/octet-stream"),
  },
  getClientFile: {
    ...webFile,
    path: "/clients/:file",
    summary: "Get a client by the name of its file",
    params: Type.Object({ file: Type.String() }, { additionalProperties: false }),
    answers: fileAnswer("The file.", "application/octet-stream"),
  },
  getInstaller: {
    ...webFile,
    path: "/install.sh",
    summary: "Get a shell script that installs the command line",
    answers: fileAnswer("The script.", "text/x-shellscript"),
  },
} as const satisfies Operations;
