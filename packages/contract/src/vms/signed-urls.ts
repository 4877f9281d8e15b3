// URLs that need no token, because they are signed.

import { Type, type Static } from "typebox";
import { PATH_MAX_BYTES } from "../bounds.ts";
import { Duration, OneOf, Timestamp } from "../fields.ts";
import { named } from "../named.ts";
import { Mode } from "./files.ts";

export const SignedUrlRequest = named(
  "SignedUrlRequest",
  {
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: "The URL opens this port, with all its paths.",
      }),
    ),
    path: Type.Optional(
      Type.String({
        maxLength: PATH_MAX_BYTES,
        description: "The URL reads or writes the file at this absolute path.",
      }),
    ),
    method: Type.Optional(
      OneOf(["GET", "PUT"], { default: "GET", description: "Of a file: whether it is read or written." }),
    ),
    mode: Type.Optional(
      Type.String({
        ...Mode,
        description:
          "Of a file that is written: its permissions, octal. Who has the URL cannot choose others. Without it a file that is there keeps its own, and a new one has `0644`.",
      }),
    ),
    expires_in: Type.Optional(
      Type.String({ ...Duration, default: "1h", description: "How long the URL is valid, at most 168h." }),
    ),
  },
  { port: 3000, expires_in: "1h" },
);
export type SignedUrlRequest = Static<typeof SignedUrlRequest>;

export const SignedUrl = named(
  "SignedUrl",
  {
    url: Type.String({
      description:
        "Needs no token. It is a secret: who has it has what it opens. It has the port's own name where the server gives ports names.",
    }),
    expires_at: Timestamp,
  },
  {
    url: "https://skerry.example.org/v1/sandboxes/sbx_01kb3x0q9vt5c7r2m8n4p6w1yz/ports/3000/?_skerry=1795392000.A7w…",
    expires_at: "2026-11-23T12:00:00.000Z",
  },
);
export type SignedUrl = Static<typeof SignedUrl>;
