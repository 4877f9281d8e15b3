// The dashboard: a page for people, which reaches nothing but the API.

import { Type } from "typebox";
import type { Operations } from "../api/operation.ts";
import { fileAnswer, webFile } from "../api/web-file.ts";

export const dashboardOperations = {
  getDashboardRoot: {
    ...webFile,
    path: "/ui",
    summary: "Be sent to the dashboard",
    description: "303 to `/ui/`, below which its addresses are.",
    answers: fileAnswer("The page.", "text/html"),
  },
  getDashboard: {
    ...webFile,
    path: "/ui/*",
    summary: "Open the dashboard",
    params: Type.Object({ "*": Type.String() }),
    answers: fileAnswer("The page, whatever the path: it shows what the path names.", "text/html"),
  },
  getDashboardSession: {
    ...webFile,
    path: "/ui/session",
    summary: "Ask whether this browser has a session",
    description:
      "The page cannot see its cookie, and a call of the API without one fails, which browsers report as a fault of the page. Whether the session is still open, the API says.",
    answers: fileAnswer("`true` or `false`.", "application/json"),
  },
  getDashboardAsset: {
    ...webFile,
    path: "/ui/assets/:file",
    summary: "Get a file of the dashboard",
    params: Type.Object({ file: Type.String() }, { additionalProperties: false }),
    answers: fileAnswer("The file.", "application/octet-stream"),
  },
} as const satisfies Operations;
