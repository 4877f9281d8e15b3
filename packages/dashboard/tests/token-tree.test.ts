import type { Token } from "@skerry/sdk";
import { expect, test } from "vitest";
import { countBelow, tokenTree } from "../src/organization/token-tree.ts";

function token(id: string, parent: string | null): Token {
  return {
    ...{
      id,
      parent_id: parent,
      name: id,
      user_id: "usr_1",
      organization_id: "org_1",
      scopes: ["*"],
      bound: false,
    },
    ...{ created_at: "2026-11-20T16:21:09.123Z", expires_at: null, last_used_at: null },
  };
}

test("what a token minted hangs below it, and all of it is counted", () => {
  const list = [token("c", "b"), token("d", "a"), token("b", "a"), token("a", null), token("z", null)];
  const tree = tokenTree(list);
  expect(tree.map((node) => [node.token.id, countBelow(node)])).toEqual([
    ["a", 3],
    ["z", 0],
  ]);
  expect(tree[0]?.minted.map((node) => [node.token.id, countBelow(node)])).toEqual([
    ["d", 0],
    ["b", 1],
  ]);
});

test("a token whose parent is not in the list stands at the top", () => {
  expect(tokenTree([token("a", "gone")]).map((node) => node.token.id)).toEqual(["a"]);
});
