// What a member may do in an organization, and what a token may do at most.

export const access = `
-- Until now every member could do everything. The default is for those alone: who adds a member says what it may.
alter table memberships
  add column role text not null default 'owner' check (role in ('viewer', 'member', 'admin', 'owner'));
alter table memberships alter column role drop default;
create index memberships_by_org on memberships (org_id, user_id);

alter table users add column email text;

-- The operator's organization has rights over what all organizations share; it is the one that was there first.
alter table organizations
  add column operator boolean not null default false,
  add column egress_default text not null default 'allow_all' check (egress_default in ('allow_all', 'deny_all'));
update organizations set operator = true
where id = (select org_id from memberships order by created_at, org_id limit 1);

-- Tokens made before keep every right of their user. A bound token works in its own organization only.
alter table api_tokens
  add column scopes text[] not null default '{*}',
  add column bound boolean not null default false;
create index api_tokens_by_user on api_tokens (user_id, id desc) where revoked_at is null;
`;
