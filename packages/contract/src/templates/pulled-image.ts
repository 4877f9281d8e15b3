import { Type, type Static } from "typebox";

/** An image of a registry as it was pulled, or of an archive. */
export const PulledImage = Type.Object(
  {
    image: Type.String({
      description: "The reference that was asked for, or `archive` where one was uploaded.",
    }),
    digest: Type.String({ description: "Of its manifest: what the tag meant." }),
  },
  { additionalProperties: false },
);
export type PulledImage = Static<typeof PulledImage>;
