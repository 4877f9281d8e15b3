// What hands out the clients. They are the same for everybody and tell nothing of anybody, and who fetches one has no token yet.

import { Type } from "typebox";
import type { Operations, WrittenAnswer } from "../api/operation.ts";

function file(description: string, type: string): WrittenAnswer {
  return { description, content: { [type]: { schema: Type.String() } } };
}

const download = {
  surface: "web",
  method: "GET",
  tag: "platform",
  access: "public",
  errors: ["not_found", "rate_limited"],
} as const;

export const clientOperations = {
  getSdk: {
    ...download,
    path: "/sdk.tgz",
    summary: "Get the TypeScript client as an npm package",
    answers: { 200: file("The package.", "application/gzip") },
  },
  getCli: {
    ...download,
    path: "/cli",
    summary: "Get the command line as one file for Node",
    answers: { 200: file("The program.", "text/javascript") },
  },
  getCliPackage: {
    ...download,
    path: "/cli.tgz",
    summary: "Get the command line as an npm package",
    answers: { 200: file("The package.", "application/gzip") },
  },
  getWheel: {
    ...download,
    path: "/skerry.whl",
    summary: "Be sent to the Python client",
    description: "302 to the file's own address, whose last part pip reads.",
    answers: { 200: file("The wheel.", "application/octet-stream") },
  },
  getClientFile: {
    ...download,
    path: "/clients/:file",
    summary: "Get a client by the name of its file",
    params: Type.Object({ file: Type.String() }, { additionalProperties: false }),
    answers: { 200: file("The file.", "application/octet-stream") },
  },
  getInstaller: {
    ...download,
    path: "/install.sh",
    summary: "Get a shell script that installs the command line",
    answers: { 200: file("The script.", "text/x-shellscript") },
  },
} as const satisfies Operations;
