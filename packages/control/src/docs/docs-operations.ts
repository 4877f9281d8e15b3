import { Type } from "typebox";
import type { Operations } from "../api/operation.ts";

export const openapiOperations = {
  getOpenapi: {
    surface: "v1",
    method: "GET",
    path: "/v1/openapi.json",
    client: null,
    tag: "platform",
    summary: "Get this document",
    description: "The API as an OpenAPI document, for programs.",
    answers: {
      200: {
        description: "OpenAPI 3.1.",
        content: { "application/json": { schema: Type.Object({}, { description: "OpenAPI 3.1." }) } },
      },
    },
    access: "public",
    errors: ["rate_limited"],
  },
} as const satisfies Operations;

export const docsOperations = {
  getAppFileSchema: {
    surface: "v1",
    method: "GET",
    path: "/schemas/skerry.toml.json",
    client: null,
    tag: "apps",
    summary: "Get the schema of app files",
    description: "Of `skerry.toml`, for editors: `#:schema URL` in its first line.",
    answers: {
      200: {
        description: "JSON Schema.",
        content: { "application/json": { schema: Type.Object({}, { description: "JSON Schema." }) } },
      },
    },
    access: "public",
    errors: ["rate_limited"],
  },
  getRoot: {
    surface: "web",
    method: "GET",
    path: "/",
    tag: "platform",
    summary: "Be sent to the page",
    description:
      "For a browser 303 to the dashboard, or where there is none 302 to `/docs`; for programs, where things are.",
    answers: {
      200: {
        description: "Where things are.",
        content: { "application/json": { schema: Type.Record(Type.String(), Type.String()) } },
      },
    },
    access: "public",
    errors: [],
  },
  getDocs: {
    surface: "v1",
    method: "GET",
    path: "/docs",
    client: null,
    tag: "platform",
    summary: "Read this page",
    description: "The API as a page for people.",
    answers: { 200: { description: "The page.", content: { "text/html": { schema: Type.String() } } } },
    access: "public",
    errors: ["rate_limited"],
  },
} as const satisfies Operations;
