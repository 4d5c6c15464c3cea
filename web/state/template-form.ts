import type { ResultOf } from 'gql.tada';
import type { Templates } from '../graph/documents.js';
import type { LaunchForm } from './launch-form.js';

export type Template = ResultOf<typeof Templates>['templates'][number];
export type Variable = Template['variables'][number];

/** Returns the form's text for a variable, or undefined if there is none. */
export const textOf = ({ env }: LaunchForm, variable: string): string | undefined =>
  env.find(({ name }) => name === variable)?.value;

/** Returns the form's secret for a variable, or undefined if there is none. */
export const secretOf = ({ secrets }: LaunchForm, variable: string): string | undefined =>
  secrets.find(({ place, name }) => place === 'variable' && name === variable)?.secret;

/** Returns the form's rows with this text for a variable. Undefined removes the row. */
export function withText(form: LaunchForm, variable: string, text: string | undefined): Pick<LaunchForm, 'env'> {
  const row = text === undefined ? [] : [{ name: variable, value: text }];
  const at = form.env.findIndex(({ name }) => name === variable);
  if (at < 0) return { env: [...form.env, ...row] };
  return { env: [...form.env.slice(0, at), ...row, ...form.env.slice(at + 1)] };
}

/** Returns the form's secrets with this account secret for a variable. An empty string removes it. */
export function withSecret(form: LaunchForm, variable: string, secret: string): Pick<LaunchForm, 'secrets'> {
  const others = form.secrets.filter(({ place, name }) => place !== 'variable' || name !== variable);
  return { secrets: secret === '' ? others : [...others, { secret, place: 'variable', name: variable }] };
}
