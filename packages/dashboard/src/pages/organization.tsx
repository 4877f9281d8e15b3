import type { ComponentChildren } from "preact";
import type { Limits, Token } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { me } from "../session.ts";
import { Action } from "../ui/action.tsx";
import { Failure } from "../ui/failure.tsx";
import { Loading, Page } from "../ui/page.tsx";
import { Panel } from "../ui/panel.tsx";
import { countText } from "../ui/text.ts";
import { When } from "../ui/when.tsx";

const SHOWN_MAX = 200;

export function View() {
  const id = me.value?.organization_id ?? "";
  const limits = useLoaded("limits", (signal) => skerry.limits({ signal }));
  const members = useLoaded("members", (signal) =>
    skerry.organizations.memberPage(id, { limit: SHOWN_MAX }, { signal }),
  );
  const tokens = useLoaded("tokens", (signal) => skerry.tokens.page({ limit: SHOWN_MAX }, { signal }));
  const name = me.value?.organization_name ?? "";
  return (
    <Page title={name} name={name}>
      <div class="columns">
        <Panel title="Limits">
          <Waiting of={limits}>{limits.value && <Quotas quotas={limits.value.quotas} />}</Waiting>
        </Panel>
        <Panel title="Members">
          <Waiting of={members}>
            <ul class="plain">
              {members.value?.items.map((member) => (
                <li key={member.user_id}>
                  {member.name} <span class="muted">{member.email}</span> <strong>{member.role}</strong>
                </li>
              ))}
            </ul>
          </Waiting>
        </Panel>
      </div>
      <Panel title="Tokens">
        <Waiting of={tokens}>
          <ul class="plain">
            {tokens.value?.items.map((token) => (
              <TokenLine key={token.id} token={token} reload={tokens.reload} />
            ))}
          </ul>
        </Waiting>
      </Panel>
    </Page>
  );
}

interface WaitingProps {
  readonly of: Loaded<unknown>;
  readonly children: ComponentChildren;
}

function Waiting({ of: { value, error, reload }, children }: WaitingProps) {
  if (value !== undefined) return <>{children}</>;
  return error === undefined ? <Loading /> : <Failure error={error} retry={reload} />;
}

function Quotas({ quotas }: { readonly quotas: Limits["quotas"] }) {
  return (
    <dl class="quotas">
      {Object.entries(quotas).map(([name, { limit, used }]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            <meter
              value={used}
              max={Math.max(limit, 1)}
              high={limit * 0.9}
              aria-label={name.replaceAll("_", " ")}
            />{" "}
            {countText(used)} of {countText(limit)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function TokenLine({ token, reload }: { readonly token: Token; readonly reload: () => void }) {
  const isOwn = token.id === me.value?.token_id;
  return (
    <li>
      <strong>{token.name}</strong>
      {isOwn && " (this browser)"}{" "}
      <span class="muted">
        {token.scopes.join(", ")} · ends{" "}
        {token.expires_at === null ? "never" : <When at={token.expires_at} />} · used{" "}
        <When at={token.last_used_at} />
      </span>
      <Action
        label="Revoke"
        danger
        needs="tokens:write"
        confirm="Programs that use it are refused from now on, and so are the tokens that it has minted for browsers."
        run={async () => {
          await skerry.tokens.revoke(token.id);
          reload();
        }}
      />
    </li>
  );
}
