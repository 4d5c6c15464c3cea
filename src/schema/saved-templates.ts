import { fields } from '../domain/fields.js';
import { launchOf } from '../domain/instances/launch.js';
import {
  deleteTemplate,
  linkOf,
  MAX_SAVED_TEMPLATES,
  savedTemplates,
  saveTemplate,
} from '../domain/templates/saved-templates.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { LaunchInput, LaunchType, renterOf } from './launch.js';

const SavedTemplateType = builder.prismaObject('SavedTemplate', {
  description: 'A launch that an account keeps under a name, to deploy it again: with its template, disk and launch.',
  fields: (t) => ({
    name: t.exposeID('name', { description: 'Its name, unique in the account.' }),
    description: t.exposeString('description', { description: 'What it is for; empty for nothing said.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    launch: t.field({
      type: LaunchType,
      description: 'What runs, beside template and disk.',
      resolve: (saved) => launchOf(saved)!,
    }),
    link: t.string({
      description:
        "Opens the console's dialog filled in with it, for anybody who has the link. It holds no secret; what it can't hold is left out.",
      resolve: (saved, _args, { deps }) => linkOf(deps, saved),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was saved.' }),
  }),
});

const SavedTemplateInput = builder.inputType('SavedTemplateInput', {
  description: 'What to keep.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(fields.savedTemplateName) }),
    description: t.string(fromField(fields.savedTemplateDescription)),
    template: t.string(fromField(fields.template)),
    diskGb: t.int(fromField(fields.diskGb)),
    launch: t.field({ type: LaunchInput, description: 'What runs, beside template and disk.' }),
  }),
});

builder.queryFields((t) => ({
  myTemplates: t.field({
    type: [SavedTemplateType],
    ...NEEDS_KEY,
    extensions: { ...NEEDS_KEY.extensions, ...atMost(MAX_SAVED_TEMPLATES).extensions },
    nullable: true,
    description: 'What the account saved, by name. Needs an API key.',
    resolve: (_root, _args, context) => savedTemplates(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  saveTemplate: t.field({
    type: SavedTemplateType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Keeps a launch under a name, instead of the one that was there. At most ${MAX_SAVED_TEMPLATES}.`,
    args: { input: t.arg({ type: SavedTemplateInput, required: true, description: 'What to keep.' }) },
    resolve: (_root, { input }, context) => saveTemplate(context.deps, renterOf(context, input), input),
  }),
  deleteTemplate: t.field({
    type: SavedTemplateType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes what was saved under a name. What was deployed from it stays.',
    args: { name: t.arg.string({ required: true, ...fromField(fields.savedTemplateName) }) },
    resolve: (_root, { name }, context) => deleteTemplate(context.deps, accountOf(context), name),
  }),
}));
