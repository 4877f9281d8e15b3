import { Limits } from "../organization/limits.tsx";
import { Members } from "../organization/members.tsx";
import { Tokens } from "../organization/tokens.tsx";
import { me } from "../session.ts";
import { Page } from "../ui/page.tsx";

export function View() {
  const id = me.value?.organization_id ?? "";
  const name = me.value?.organization_name ?? "";
  return (
    <Page title={name} name={name}>
      <div class="columns">
        <Limits organization={id} />
        <Members organization={id} />
      </div>
      <Tokens />
    </Page>
  );
}
