// What egress rules have refused, beside what organizations have had.

export const denials = `
-- Packets.
alter table usage_samples add column denied bigint not null default 0;
`;
