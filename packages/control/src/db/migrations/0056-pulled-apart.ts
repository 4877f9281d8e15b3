// An image that was pulled with credentials, in a microVM of its own.

export const pulledApart = `
-- Its environment, user and folder, which lay in that microVM. Null where the build's microVM has them, or nothing was pulled.
alter table builds add column image_config jsonb;
`;
