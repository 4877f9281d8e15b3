// What was run and where files went, for organizations that want it in their audit logs.

export const auditDetails = `
alter table organizations add column audit_details boolean not null default false;
alter table audit_events add column detail text;
`;
