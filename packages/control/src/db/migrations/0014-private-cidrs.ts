// Private networks are the operator's to grant. Each organization is granted those that its sandboxes and machines name today, so what
// runs keeps them, and the audit log says which organizations that are. A network that is wider than a private one, such as 0.0.0.0/0, names
// none: what was reached through it is closed when the host is upgraded.

const ALPHABET = "'0123456789abcdefghjkmnpqrstvwxyz'";
const millis = "(extract(epoch from now()) * 1000)::bigint";

export const privateCidrs = `
alter table organizations add column allowed_private_cidrs text[] not null default '{}';

update organizations o set allowed_private_cidrs = named.cidrs
from (
  select org_id, array_agg(cidr::text order by cidr) as cidrs from (
    select distinct org_id, allowed::cidr as cidr
    from (
      select org_id, egress from sandboxes where status not in ('destroying', 'destroyed')
      union all
      select org_id, egress from machines where status not in ('destroying', 'destroyed')
    ) vms, jsonb_array_elements_text(vms.egress -> 'allow_cidrs') as allowed
  ) allowed
  where cidr <<= any (array['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15']::cidr[])
  group by org_id
) named
where named.org_id = o.id;

insert into audit_events (id, org_id, service, action, resource_kind, resource_id, outcome)
select
  'aud_' || (
    select string_agg(substr(${ALPHABET}, 1 + (${millis} >> (45 - 5 * place) & 31)::integer, 1), '' order by place)
    from generate_series(0, 9) place
  ) || (
    select string_agg(substr(${ALPHABET}, 1 + floor(random() * 32)::integer, 1), '')
    from generate_series(1, 16) where o.id is not null
  ),
  o.id, 'migration', 'organization.private_cidrs', 'organization', o.id, 'success'
from organizations o where o.allowed_private_cidrs <> '{}';
`;
