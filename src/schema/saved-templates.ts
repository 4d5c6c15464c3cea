import { instanceFields } from '../domain/instances/fields.js';
import { launchOf } from '../domain/instances/launch.js';
import { templateFields } from '../domain/templates/fields.js';
import {
  deleteTemplate,
  linkOf,
  MAX_SAVED_TEMPLATES,
  savedTemplates,
  saveTemplate,
} from '../domain/templates/saved-templates.js';
import { required } from '../std/required.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { accountForRental, LaunchInput, LaunchType } from './launch.js';

const SavedTemplateType = builder.prismaObject('SavedTemplate', {
  description: 'A launch that an account saved under a name, with its template and disk size.',
  fields: (t) => ({
    name: t.exposeID('name', { description: 'Name, unique in the account.' }),
    description: t.exposeString('description', { description: 'Purpose of the saved template; can be empty.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    launch: t.field({
      type: LaunchType,
      description: 'Launch settings in addition to template and disk.',
      resolve: (saved) => required(launchOf(saved), 'launch of a saved template'),
    }),
    link: t.string({
      description:
        "Opens the console's deploy dialog with these settings, for anyone with the link. It contains no secret and omits settings that a link can't hold.",
      resolve: (saved, _args, { deps }) => linkOf(deps, saved),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which it was saved.' }),
  }),
});

const SavedTemplateInput = builder.inputType('SavedTemplateInput', {
  description: 'The template to save.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(templateFields.savedTemplateName) }),
    description: t.string(fromField(templateFields.savedTemplateDescription)),
    template: t.string(fromField(instanceFields.template)),
    diskGb: t.int(fromField(instanceFields.diskGb)),
    launch: t.field({ type: LaunchInput, description: 'Launch settings in addition to template and disk.' }),
  }),
});

builder.queryFields((t) => ({
  myTemplates: t.field({
    type: [SavedTemplateType],
    ...NEEDS_KEY,
    extensions: { ...NEEDS_KEY.extensions, ...atMost(MAX_SAVED_TEMPLATES).extensions },
    nullable: true,
    description: 'Saved templates of the account, by name. Needs an API key.',
    resolve: (_root, _args, context) => savedTemplates(context.deps, accountOf(context)),
  }),
}));

builder.mutationFields((t) => ({
  saveTemplate: t.field({
    type: SavedTemplateType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Saves a launch under a name, replacing any previous one. At most ${MAX_SAVED_TEMPLATES}.`,
    args: { input: t.arg({ type: SavedTemplateInput, required: true, description: 'The template to save.' }) },
    resolve: (_root, { input }, context) => saveTemplate(context.deps, accountForRental(context, input), input),
  }),
  deleteTemplate: t.field({
    type: SavedTemplateType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a saved template. Instances deployed from it are unaffected.',
    args: { name: t.arg.string({ required: true, ...fromField(templateFields.savedTemplateName) }) },
    resolve: (_root, { name }, context) => deleteTemplate(context.deps, accountOf(context), name),
  }),
}));
