import { useSignal } from "@preact/signals";
import type { Token, TokenCreateRequest } from "@skerry/sdk";
import { schema } from "openapi:TokenCreateRequest";
import { skerry } from "../api.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { me } from "../session.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs, flags } from "../ui/copy-as.tsx";
import { Form, type Given } from "../ui/form.tsx";
import { Panel } from "../ui/panel.tsx";
import { Secret } from "../ui/secret.tsx";
import { shortId } from "../ui/text.ts";
import { Waiting } from "../ui/waiting.tsx";
import { When } from "../ui/when.tsx";
import { countBelow, tokenTree, type TokenNode } from "./token-tree.ts";
import { requestOf } from "../ui/request-of.ts";

const SHOWN_MAX = 2_000;

export const useTokens = (): Loaded<readonly Token[]> => useLoaded("tokens", readTokens);

export function Tokens({ tokens }: { readonly tokens: Loaded<readonly Token[]> }) {
  const minted = useSignal("");
  const request = requestOf("listTokens", { cli: "skerry auth token list" });
  return (
    <Panel title="Tokens" actions={<CopyAs request={request} of="the tokens" />}>
      <details class="more">
        <summary>Mint a token</summary>
        <MintForm
          done={(secret) => {
            minted.value = secret;
            tokens.reload();
          }}
        />
      </details>
      {minted.value !== "" && (
        <Secret label="The new token" text={minted.value} help="It is shown this once, and stored nowhere." />
      )}
      <Waiting of={tokens}>
        <Branches nodes={tokenTree(tokens.value ?? [])} reload={tokens.reload} />
      </Waiting>
    </Panel>
  );
}

async function readTokens(signal: AbortSignal): Promise<readonly Token[]> {
  const found: Token[] = [];
  for await (const token of skerry.tokens.list({ signal })) if (found.push(token) === SHOWN_MAX) break;
  return found;
}

function MintForm({ done }: { readonly done: (secret: string) => void }) {
  const scopes = me.value?.scopes ?? [];
  return (
    <Form
      schema={schema}
      labels={{ name: "Name", expires_in: "Lifetime", scopes: "Scopes" }}
      initial={{ expires_in: "24h" }}
      choices={{ scopes }}
      several={["scopes"]}
      submit={["Mint", "Minting…"]}
      needs="tokens:write"
      request={(given) => {
        const json = bodyOf(given);
        const { scopes: chosen = [], ...plain } = json;
        const words = flags(plain as Given);
        // The flag takes all that follow it.
        const asked = chosen.length > 0 ? ["--scope", ...chosen] : [];
        return requestOf("createToken", {
          json,
          cli: command("skerry auth token create", ...words, ...asked),
        });
      }}
      send={async (given) => done((await skerry.tokens.create(bodyOf(given))).token)}
    />
  );
}

function bodyOf({ scopes, ...given }: Given): TokenCreateRequest {
  // Its choices are scopes.
  return scopes === undefined
    ? given
    : { ...given, scopes: scopes.split(" ") as NonNullable<TokenCreateRequest["scopes"]> };
}

interface BranchesProps {
  readonly nodes: readonly TokenNode[];
  readonly reload: () => void;
}

function Branches({ nodes, reload }: BranchesProps) {
  return (
    <ul class="tree">
      {nodes.map((node) => (
        <Branch key={node.token.id} {...{ node, reload }} />
      ))}
    </ul>
  );
}

function Branch({ node, reload }: { readonly node: TokenNode; readonly reload: () => void }) {
  const { token, minted } = node;
  const isOwn = token.id === me.value?.token_id;
  return (
    <li>
      <strong>{token.name}</strong>
      {isOwn && " (this browser)"}{" "}
      <span class="muted">
        <code title={token.id}>{shortId(token.id)}</code> · {token.scopes.join(", ")} · ends{" "}
        {token.expires_at === null ? "never" : <When at={token.expires_at} />} · used{" "}
        {token.last_used_at === null ? "never" : <When at={token.last_used_at} />}
      </span>
      <Action
        label="Revoke"
        of={`${token.name} ${shortId(token.id)}`}
        danger
        needs="tokens:write"
        confirm={lossOf(node)}
        request={requestOf("revokeToken", {
          at: [token.id],
          cli: command("skerry auth token revoke", token.id),
        })}
        run={async () => {
          await skerry.tokens.revoke(token.id);
          reload();
        }}
      />
      {minted.length > 0 && <Branches nodes={minted} reload={reload} />}
    </li>
  );
}

function lossOf(node: TokenNode): string {
  const count = countBelow(node);
  const others =
    count === 0
      ? ""
      : count === 1
        ? ", and the one that came from it"
        : `, and the ${count} that came from it`;
  return `This ends ${node.token.name}${others}: programs and browsers that use ${count === 0 ? "it" : "them"} are refused from now on.`;
}
