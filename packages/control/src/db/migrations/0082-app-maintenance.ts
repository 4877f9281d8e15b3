// Apps whose requests are answered by the proxy.

export const appMaintenance = `
alter table apps add column maintenance boolean not null default false;
`;
