import type { BackgroundService, Build, Host, Machine } from "@skerry/sdk";

interface Told {
  /** The name of what it is about. */
  readonly name: string;
  /** A word that has a shape. */
  readonly status: string;
  readonly text: string;
  /** Where it leads, below `BASE`; null: no page is about it. */
  readonly to: string | null;
}

/** Something that a person should look at. */
export type Need = Told &
  (
    | { readonly kind: "host"; readonly of: Host }
    | { readonly kind: "machine"; readonly of: Machine }
    | { readonly kind: "build"; readonly of: Build }
    | { readonly kind: "background_service"; readonly of: BackgroundService }
    /** Its sentence is the whole answer. */
    | { readonly kind: "template" | "backup" }
  );
