/** What a request brings: the SHA-256 of a secret, as hexadecimal digits, and the organization that it names. */
export interface Credentials {
  readonly secretSha256: string;
  /** Undefined: the token's own. */
  readonly orgId: string | undefined;
}

/** One text for one pair of token and organization. */
export function keyOf({ secretSha256, orgId = "" }: Credentials): string {
  return `${secretSha256} ${orgId}`;
}
