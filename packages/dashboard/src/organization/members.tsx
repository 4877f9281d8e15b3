import { useSignal } from "@preact/signals";
import { hasRole, roles, type Role } from "@skerry/contract/organizations/roles";
import type { Member } from "@skerry/sdk";
import { schema as addSchema } from "openapi:MemberAddRequest";
import { schema as updateSchema } from "openapi:MemberUpdateRequest";
import { skerry } from "../api.ts";
import { invitationAddress } from "../asked-login.ts";
import { useLoaded, type Loaded } from "../live/use-loaded.ts";
import { me } from "../session.ts";
import { Action } from "../ui/action.tsx";
import { command, CopyAs, flags } from "../ui/copy-as.tsx";
import { Form, type Given } from "../ui/form.tsx";
import { Panel } from "../ui/panel.tsx";
import { Secret } from "../ui/secret.tsx";
import { Waiting } from "../ui/waiting.tsx";
import { requestOf } from "../ui/request-of.ts";

const SHOWN_MAX = 1_000;

export const useMembers = (organization: string): Loaded<readonly Member[]> =>
  useLoaded("members", async (signal) => {
    const found: Member[] = [];
    for await (const member of skerry.organizations.members(organization, { signal }))
      if (found.push(member) === SHOWN_MAX) break;
    return found;
  });

interface MembersProps {
  readonly organization: string;
  readonly members: Loaded<readonly Member[]>;
}

export function Members({ organization, members }: MembersProps) {
  const invitation = useSignal("");
  const request = requestOf("listMembers", { at: [organization], cli: "skerry org members" });
  return (
    <Panel title="Members" actions={<CopyAs request={request} of="the members" />}>
      <details class="more">
        <summary>Add a member</summary>
        <AddForm
          organization={organization}
          done={(secret) => {
            invitation.value = secret;
            members.reload();
          }}
        />
      </details>
      {invitation.value !== "" && (
        <>
          <Secret
            label="The new member's first token"
            text={invitation.value}
            help="Hand it over: it works in this organization, and is shown this once."
          />
          <Secret
            label="Address that logs a browser in with it"
            text={invitationAddress(invitation.value)}
            help="In place of the token. Opening it asks first, and uses nothing up."
          />
        </>
      )}
      <Waiting of={members}>
        <ul class="plain">
          {members.value?.map((member) => (
            <Line key={member.user_id} {...{ organization, member }} reload={members.reload} />
          ))}
        </ul>
      </Waiting>
    </Panel>
  );
}

/** Up to one's own: a higher one can be neither given nor taken. */
function rolesToGive(): readonly Role[] {
  const own = me.value?.role ?? "viewer";
  return roles.filter((role) => hasRole(own, role));
}

interface AddFormProps {
  readonly organization: string;
  readonly done: (secret: string) => void;
}

function AddForm({ organization, done }: AddFormProps) {
  return (
    <Form
      schema={addSchema}
      labels={{ name: "Name", email: "E-mail", role: "Role" }}
      initial={{ role: "member" }}
      choices={{ role: rolesToGive() }}
      submit={["Add", "Adding…"]}
      needs="org:write"
      request={({ name = "", ...others }) =>
        requestOf("addMember", {
          at: [organization],
          json: { name, ...others },
          cli: command("skerry org add-member", name, ...flags(others)),
        })
      }
      send={async ({ name = "", ...others }) => {
        const added = await skerry.organizations.addMember(organization, {
          name,
          ...others,
          role: roleIn(others),
        });
        done(added.token.token);
      }}
    />
  );
}

/** The form offers nothing else. */
const roleIn = ({ role }: Given): Role => role as Role;

interface LineProps {
  readonly organization: string;
  readonly member: Member;
  readonly reload: () => void;
}

function Line({ organization, member, reload }: LineProps) {
  const { user_id: id, name, email, role } = member;
  return (
    <li>
      {name} <span class="muted">{email}</span> <strong>{role}</strong>
      {id === me.value?.user_id && " (you)"}
      <details class="more">
        <summary aria-label={`Change ${name}`}>Change</summary>
        <Form
          schema={updateSchema}
          labels={{ role: "Role" }}
          initial={{ role }}
          choices={{ role: rolesToGive() }}
          submit={["Change the role", "Changing…"]}
          of={`of ${name}`}
          needs="org:write"
          request={(given) =>
            requestOf("updateMember", {
              at: [organization, id],
              json: { role: roleIn(given) },
              cli: command("skerry org set-role", id, roleIn(given)),
            })
          }
          send={async (given) => {
            await skerry.organizations.updateMember(organization, id, { role: roleIn(given) });
            reload();
          }}
        />
        <Action
          label="Remove"
          of={name}
          danger
          needs="org:write"
          confirm={`${name} is no member any more, and the tokens that ${name} has in this organization end.`}
          request={requestOf("removeMember", {
            at: [organization, id],
            cli: command("skerry org remove-member", id),
          })}
          run={async () => {
            await skerry.organizations.removeMember(organization, id);
            reload();
          }}
        />
      </details>
    </li>
  );
}
