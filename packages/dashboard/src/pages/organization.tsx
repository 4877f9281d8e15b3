import { hasCome } from "../live/use-loaded.ts";
import { Limits, useLimits } from "../organization/limits.tsx";
import { Members, useMembers } from "../organization/members.tsx";
import { Secrets, useSecrets } from "../organization/secrets.tsx";
import { Tokens, useTokens } from "../organization/tokens.tsx";
import { me } from "../session.ts";
import { Loading, Page } from "../ui/page.tsx";

export function View() {
  const id = me.value?.organization_id ?? "";
  const name = me.value?.organization_name ?? "";
  const limits = useLimits();
  const members = useMembers(id);
  const tokens = useTokens();
  const secrets = useSecrets();
  return (
    <Page title={name} name={name}>
      {[limits, members, tokens, secrets].every(hasCome) ? (
        <>
          <div class="columns">
            <Limits organization={id} limits={limits} />
            <Members organization={id} members={members} />
          </div>
          <Secrets secrets={secrets} />
          <Tokens tokens={tokens} />
        </>
      ) : (
        <Loading />
      )}
    </Page>
  );
}
