// Fields of a form that sets a secret, of the organization or of an app.

import { schema } from "openapi:SecretSetRequest";

/** Stands for the value in what is copied: a terminal and a clipboard keep what they are given. */
export const VALUE_FILE = "value.txt";

export const secretSchema = {
  properties: {
    name: { description: "A name as environment variables have it. An existing one gets a new version." },
    value: { ...schema.properties["value"], rows: 2, masked: true },
  },
};
