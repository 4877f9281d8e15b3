// The receiver to which the log of an app is forwarded.

import { Type, type Static } from "typebox";
import { Timestamp } from "../fields.ts";
import { SECRET_NAME_MAX_CHARS, SECRET_NAME_PATTERN } from "../secrets/secret-bounds.ts";

const closed = { additionalProperties: false } as const;

const url = Type.String({
  minLength: 1,
  maxLength: 500,
  description:
    "`https://HOST/v1/logs` for OTLP over HTTP, as JSON; `syslog+tls://HOST:6514` for syslog (RFC 5424) over TLS. It is no secret: it has neither a name, a query nor a fragment.",
});

const Header = Type.Object(
  {
    name: Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$", description: "Such as `Authorization`." }),
    secret: Type.String({
      pattern: SECRET_NAME_PATTERN,
      maxLength: SECRET_NAME_MAX_CHARS,
      description: "Name of a secret of the organization, whose value is that of the header.",
    }),
  },
  closed,
);

export const LogForwardWish = Type.Object(
  { url, header: Type.Optional({ ...Header, description: "Of requests to a receiver of OTLP." }) },
  closed,
);
export type LogForwardWish = Static<typeof LogForwardWish>;

const Fault = Type.Object(
  {
    message: Type.String({ description: "What the last attempt failed with." }),
    since: { ...Timestamp, description: "Since then no line gets there." },
  },
  closed,
);

export const LogForward = Type.Object(
  {
    url,
    header: Type.Unsafe<Static<typeof Header> | null>({ ...Header, type: ["object", "null"] }),
    since: { ...Timestamp, description: "Lines that were printed before are not sent." },
    fault: Type.Unsafe<Static<typeof Fault> | null>({
      ...Fault,
      type: ["object", "null"],
      description: "Null: it takes lines. What it has not taken is tried again.",
    }),
  },
  closed,
);
export type LogForward = Static<typeof LogForward>;
