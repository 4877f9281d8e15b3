// Indexes by which what an organization keeps is counted, and its oldest rows are found.

export const boundedRows = `
create index e2b_builds_by_org on e2b_builds (org_id, created_at);
`;
