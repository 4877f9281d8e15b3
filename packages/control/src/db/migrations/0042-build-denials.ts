// What the egress rules of a build have refused, which its host forgets with the microVM.

export const buildDenials = `
alter table builds add column denied jsonb not null default '[]';
`;
