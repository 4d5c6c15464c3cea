import { z } from 'zod';
import { LAUNCH_NAME } from '../instances/fields.js';
import { type Field, text } from '../kernel/field.js';

export const templateFields = {
  savedTemplateName: {
    schema: z.string().regex(LAUNCH_NAME),
    must: "a name of 1 to 63 lowercase letters, digits and hyphens that doesn't start or end with a hyphen",
    description: 'Name of the saved template, unique in the account.',
  },
  savedTemplateDescription: text(0, 200, 'Purpose of the saved template.'),
} satisfies Record<string, Field<unknown>>;
