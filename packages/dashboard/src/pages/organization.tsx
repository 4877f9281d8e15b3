import { hasCome } from "../live/use-loaded.ts";
import { Limits, useLimits } from "../organization/limits.tsx";
import { Members, useMembers } from "../organization/members.tsx";
import { Tokens, useTokens } from "../organization/tokens.tsx";
import { me } from "../session.ts";
import { Loading, Page } from "../ui/page.tsx";

export function View() {
  const id = me.value?.organization_id ?? "";
  const name = me.value?.organization_name ?? "";
  const limits = useLimits();
  const members = useMembers(id);
  const tokens = useTokens();
  return (
    <Page title={name} name={name}>
      {[limits, members, tokens].every(hasCome) ? (
        <>
          <div class="columns">
            <Limits organization={id} limits={limits} />
            <Members organization={id} members={members} />
          </div>
          <Tokens tokens={tokens} />
        </>
      ) : (
        <Loading />
      )}
    </Page>
  );
}
