import { visible } from '../figures/visible.js';
import { draft } from '../state/launch-draft.js';
import { session } from '../state/session.js';
import { secretOf, textOf, type Variable, withSecret, withText } from '../state/template-form.js';
import { texts } from '../texts/en/launch.js';
import { useTemplates } from './gallery.js';
import { useSecrets } from './secrets.js';

/** A template's form, with a field for each variable. The service fills in any fields left unchanged. */
export function TemplateVariables({ template, onNewSecret }: { template: string; onNewSecret(): void }) {
  const variables = useTemplates()?.find(({ slug }) => slug === template)?.variables ?? [];
  if (variables.length === 0) return null;
  return (
    <fieldset class="stack-tight">
      <legend>{texts.templateSettings}</legend>
      {variables.map((variable) =>
        variable.secret ? (
          <SecretVariable key={variable.name} variable={variable} onNew={onNewSecret} />
        ) : (
          <label class="field" key={variable.name}>
            <span>{labelOf(variable)}</span>
            <input
              name={`env.${variable.name}`}
              class="mono"
              autocomplete="off"
              spellcheck={false}
              required={variable.required && variable.default === null}
              placeholder={visible(variable.default ?? '')}
              value={textOf(draft.value, variable.name) ?? ''}
              onInput={({ currentTarget }) => {
                draft.value = {
                  ...draft.value,
                  ...withText(draft.value, variable.name, currentTarget.value || undefined),
                };
              }}
            />
          </label>
        ),
      )}
    </fieldset>
  );
}

function SecretVariable({ variable, onNew }: { variable: Variable; onNew(): void }) {
  const { name, isGenerated, required } = variable;
  const isSignedIn = session.value === 'in';
  const names = (useSecrets(isSignedIn).secrets ?? []).filter(({ kind }) => kind === 'VALUE').map((each) => each.name);
  const chosen = secretOf(draft.value, name) ?? '';
  return (
    <div class="stack-tight">
      <label class="field">
        <span>{labelOf(variable)}</span>
        <select
          name={`secret.${name}`}
          required={required && !isGenerated && textOf(draft.value, name) === undefined}
          value={chosen}
          onChange={({ currentTarget }) => {
            draft.value = { ...draft.value, ...withSecret(draft.value, name, currentTarget.value) };
          }}
        >
          <option value="">{isGenerated ? texts.generated : required ? texts.chooseSecret : texts.none}</option>
          {chosen !== '' && !names.includes(chosen) && <option value={chosen}>{chosen}</option>}
          {names.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      {isSignedIn && !isGenerated && chosen === '' && (
        <div>
          <button
            type="button"
            class="plain"
            onClick={() => {
              // A newly created secret is selected in the field where one still has to be chosen.
              const others = withSecret(draft.value, name, '').secrets;
              draft.value = { ...draft.value, secrets: [{ secret: '', place: 'variable', name }, ...others] };
              onNew();
            }}
          >
            {texts.createSecretFor(name)}
          </button>
        </div>
      )}
    </div>
  );
}

const labelOf = ({ name, description, required }: Variable): string =>
  texts.variable(name, required, visible(description));
