// Secrets that requests get on their way out: a policy names the hosts, and the host's name proxy writes the
// value into each request to them. The guest has a placeholder in its place.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { SecretName } from "../secrets/secret.ts";

/** Rules of one policy. */
export const INJECT_MAX = 32;
const PATHS_MAX = 32;
const METHODS_MAX = 16;
const TEXT_MAX_CHARS = 255;

const HeaderName = Type.String({
  pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$",
  description: "Header that has the secret. One of this name that the guest sends is removed.",
});

export const InjectRule = named(
  "InjectRule",
  {
    host: Type.String({
      maxLength: TEXT_MAX_CHARS,
      description: "Name that the policy allows, or `*.example.com` for every name below one.",
    }),
    secret: SecretName,
    header: Type.Optional(HeaderName),
    format: Type.Optional(
      Type.String({
        maxLength: TEXT_MAX_CHARS,
        description:
          "The header's value, with `{}` where the secret stands, such as `Bearer {}`. Default: `{}`.",
      }),
    ),
    query: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z0-9_.~-]{1,100}$",
        description: "In the place of `header`: parameter of the query that has the secret.",
      }),
    ),
    basic_user: Type.Optional(
      Type.String({
        maxLength: TEXT_MAX_CHARS,
        pattern: "^[^:\\x00-\\x1f\\x7f]*$",
        description:
          "In the place of `header`: user of HTTP's basic authentication, whose password is the secret. May be empty.",
      }),
    ),
    methods: Type.Optional(
      Type.Array(Type.String({ pattern: "^[A-Z]{1,20}$" }), {
        minItems: 1,
        maxItems: METHODS_MAX,
        description: "Methods of the requests that get it. Default: all.",
      }),
    ),
    paths: Type.Optional(
      Type.Array(Type.String({ pattern: "^/[\\x21-\\x7e]*$", maxLength: TEXT_MAX_CHARS }), {
        minItems: 1,
        maxItems: PATHS_MAX,
        description:
          "Paths of the requests that get it, without a query; with `*` at the end all that begin so. Default: all.",
      }),
    ),
  },
  { host: "api.example.com", secret: "API_KEY", header: "Authorization", format: "Bearer {}" },
);
export type InjectRule = Static<typeof InjectRule>;

export const InjectRules = Type.Array(InjectRule, {
  maxItems: INJECT_MAX,
  description:
    "Secrets that requests over HTTPS get on their way, so that code in the VM never has them. Needs the scope `secrets:read` as well.",
});

/** Hosts get these with a policy that has rules, and keep them in memory alone. */
export const Injection = Type.Object(
  {
    /** 32 bytes in hexadecimal that the VM's authority is made from. */
    seed: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    /** Subject of that authority: the VM's id. */
    vm: Type.String({ maxLength: 64 }),
    /** Values by their names; one that was deleted is not among them. */
    values: Type.Record(Type.String(), Type.String()),
  },
  { additionalProperties: false },
);
export type Injection = Static<typeof Injection>;

/** Files of a guest: the authority of its VM, and that one behind the authorities of its system. */
export const AUTHORITY_FILE = "/run/skerry/egress-authority.pem";
export const BUNDLE_FILE = "/run/skerry/ca-bundle.pem";

const TRUST_VARIABLES = {
  NODE_EXTRA_CA_CERTS: AUTHORITY_FILE,
  ...Object.fromEntries(
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO"].map((name) => [
      name,
      BUNDLE_FILE,
    ]),
  ),
};

/**
 * Variables of a guest with these rules: a placeholder for each secret, and the files of certificates for
 * common programs.
 */
export function injectEnv(
  rules: readonly Pick<InjectRule, "secret">[] = [],
): Readonly<Record<string, string>> {
  if (rules.length === 0) return {};
  const placeholders = rules.map(({ secret }) => [secret, `skerry-secret:${secret}`]);
  return { ...TRUST_VARIABLES, ...Object.fromEntries(placeholders) };
}
