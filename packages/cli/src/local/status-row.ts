/** A line of `skerry status`. */
export interface StatusRow {
  readonly what: string;
  readonly state: string;
  readonly detail: string;
}
