// The request to push a template to a registry, and what a build shows of it.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { Duration, Nullable } from "../fields.ts";
import { named } from "../named.ts";
import { EgressRequest } from "../vms/egress.ts";

const Image = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description:
    "The reference that it gets, such as `registry.example.com/team/web:42`. A reference without a tag means `latest`.",
});

export const TemplatePushRequest = named(
  "TemplatePushRequest",
  {
    image: Image,
    size: Type.Optional(
      Type.String({
        maxLength: 100,
        description: "Of the microVM that makes the image. Default: `shared-cpu-4x`.",
      }),
    ),
    egress: Type.Optional(EgressRequest),
    timeout: Type.Optional(
      Type.String({ ...Duration, description: "Of the whole push. Default: `30m`, at most `2h`." }),
    ),
  },
  { image: "registry.example.com/team/web:42" },
);
export type TemplatePushRequest = Static<typeof TemplatePushRequest>;

/** `pushed` of a build. */
export const TemplatePush = Type.Object(
  {
    template_id: Type.String({ description: "Of the version that is pushed." }),
    image: Type.String({ description: "The reference that it gets." }),
    digest: Nullable(
      Type.String({ description: "Of the manifest that the registry has; null: it has none yet." }),
    ),
  },
  {
    additionalProperties: false,
    examples: [
      {
        template_id: exampleIds.template,
        image: "registry.example.com/team/web:42",
        digest: `sha256:${"5".repeat(64)}`,
      },
    ],
  },
);
export type TemplatePush = Static<typeof TemplatePush>;
