// Tokens as the tree that they are: each below the one that minted it, with which it ends.

import type { Token } from "@skerry/sdk";

export interface TokenNode {
  readonly token: Token;
  readonly minted: readonly TokenNode[];
}

/** In the order of the list. A token whose parent is not in the list stands at the top. */
export function tokenTree(tokens: readonly Token[]): readonly TokenNode[] {
  const known = new Set(tokens.map(({ id }) => id));
  const byParent = Map.groupBy(tokens, ({ parent_id: parent }) =>
    parent !== null && known.has(parent) ? parent : null,
  );
  const below = (parent: string | null): readonly TokenNode[] =>
    (byParent.get(parent) ?? []).map((token) => ({ token, minted: below(token.id) }));
  return below(null);
}

/** How many end with it, without itself. */
export function countBelow({ minted }: TokenNode): number {
  return minted.reduce((sum, node) => sum + 1 + countBelow(node), 0);
}
