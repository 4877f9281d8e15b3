// Templates that another resource has built for itself, such as an app.

export const ownedTemplates = `
-- Id of that resource; null: the build is the organization's own. Its version gets no tag.
alter table builds add column owner_id text;
alter table templates add column owner_id text;
update templates set owner_id = app_id from deploys where deploys.build_id = templates.build_id;
update builds set owner_id = app_id from deploys where deploys.build_id = builds.id;
-- Until now a deploy had the tag mean its version.
delete from template_tags g using templates t where t.id = g.template_id and t.owner_id is not null and g.tag = 'latest';
`;
