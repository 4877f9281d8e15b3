// Paused sandboxes that only a request for it resumes.

export const autoResume = `
alter table sandboxes add column auto_resume boolean not null default true;
`;
