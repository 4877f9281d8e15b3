// Routes to another port of instances than that of their service.

export const routePorts = `
alter table routes add column port integer;
`;
