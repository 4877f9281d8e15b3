// The commits that builds have cloned.

export const buildCommits = `
alter table builds add column commit text;
`;
