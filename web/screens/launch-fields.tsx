import { useSignal } from '@preact/signals';
import { Rows } from '../parts/rows.js';
import { draft, link } from '../state/launch-draft.js';
import { EXITS, type LaunchForm, launchOf, RESTARTS, type SecretRow } from '../state/launch-form.js';
import { session } from '../state/session.js';
import { useSecrets } from './secrets.js';

/** What runs, beside template and disk. Closed until somebody has something to say. */
export function LaunchFields({ onNewSecret }: { onNewSecret(): void }) {
  const form = draft.value;
  const wasFilled = useSignal(launchOf(form).launch !== null || form.secrets.length > 0);
  const change = (changes: Partial<LaunchForm>) => {
    draft.value = { ...draft.value, ...changes };
  };
  return (
    <details class="launch" open={wasFilled.value}>
      <summary>Name, variables, secrets, command, ports</summary>
      <div class="stack">
        <label class="field">
          <span>Name</span>
          <input
            name="launch-name"
            maxLength={63}
            autocomplete="off"
            spellcheck={false}
            placeholder="its id"
            value={form.name}
            onInput={({ currentTarget }) => change({ name: currentTarget.value })}
          />
        </label>
        <Variables rows={form.env} onChange={(env) => change({ env })} />
        <SecretFields form={form} onChange={change} onNew={onNewSecret} />
        <label class="field">
          <span>Command, instead of the template's</span>
          <input
            name="command"
            class="mono"
            autocomplete="off"
            spellcheck={false}
            placeholder="python train.py --epochs 3"
            value={form.command}
            onInput={({ currentTarget }) => change({ command: currentTarget.value })}
          />
        </label>
        <label class="field">
          <span>Entrypoint, instead of the image's</span>
          <input
            name="entrypoint"
            class="mono"
            autocomplete="off"
            spellcheck={false}
            value={form.entrypoint}
            onInput={({ currentTarget }) => change({ entrypoint: currentTarget.value })}
          />
        </label>
        <Ports rows={form.ports} onChange={(ports) => change({ ports })} />
        <TcpPorts rows={form.tcpPorts} onChange={(tcpPorts) => change({ tcpPorts })} />
        <div class="two">
          <label class="field">
            <span>When the command ends, start it again</span>
            <select
              name="restart"
              value={form.restart}
              onChange={({ currentTarget }) => {
                const restart = currentTarget.value as LaunchForm['restart'];
                // One that is always started again never ends.
                change({ restart, ...(restart === 'ALWAYS' && { onExit: 'KEEP' }) });
              }}
            >
              {Object.entries(RESTARTS).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>And then</span>
            <select
              name="on-exit"
              disabled={form.restart === 'ALWAYS'}
              value={form.onExit}
              onChange={({ currentTarget }) => change({ onExit: currentTarget.value as LaunchForm['onExit'] })}
            >
              {Object.entries(EXITS).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        </div>
      </div>
    </details>
  );
}

/** Said before anything else of a form that a link filled in. */
export function LinkNotice() {
  const leftOut = link.value?.leftOut ?? [];
  return (
    <div class="notice warn stack-tight">
      <p>
        <strong>A link filled in this form, and anybody can write one.</strong> Whoever wrote it chose the image, the
        variables and the command. It runs with your credit and gets the secrets that you choose: rent it only if you
        trust it. Nothing is rented until you press the button.
      </p>
      {leftOut.length > 0 && (
        <p class="small">Left out, since it is too long or not plain text: {leftOut.join(', ')}</p>
      )}
    </div>
  );
}

function Variables({ rows, onChange }: { rows: LaunchForm['env']; onChange(rows: LaunchForm['env']): void }) {
  return (
    <Rows legend="Variables" one="variable" rows={rows} empty={{ name: '', value: '' }} onChange={onChange}>
      {({ name, value }, change, label) => (
        <>
          <input
            class="mono"
            aria-label={`Name ${label}`}
            placeholder="MODEL"
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={({ currentTarget }) => change({ name: currentTarget.value })}
          />
          <input
            class="mono"
            aria-label={`Value ${label}`}
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => change({ value: currentTarget.value })}
          />
        </>
      )}
    </Rows>
  );
}

function Ports({ rows, onChange }: { rows: LaunchForm['ports']; onChange(rows: LaunchForm['ports']): void }) {
  return (
    <Rows
      legend="Web ports, after the template's"
      one="port"
      rows={rows}
      empty={{ port: '', name: '' }}
      onChange={onChange}
    >
      {({ port, name }, change, label) => (
        <>
          <input
            inputMode="numeric"
            aria-label={`Number ${label}`}
            placeholder="8000"
            maxLength={5}
            value={port}
            onInput={({ currentTarget }) => change({ port: currentTarget.value })}
          />
          <input
            aria-label={`Name ${label}`}
            placeholder="API"
            maxLength={40}
            value={name}
            onInput={({ currentTarget }) => change({ name: currentTarget.value })}
          />
        </>
      )}
    </Rows>
  );
}

function TcpPorts({ rows, onChange }: { rows: LaunchForm['tcpPorts']; onChange(rows: LaunchForm['tcpPorts']): void }) {
  return (
    <Rows
      legend="TCP ports, which anybody may reach"
      one="TCP port"
      rows={rows}
      empty={{ port: '' }}
      onChange={onChange}
    >
      {({ port }, change, label) => (
        <input
          inputMode="numeric"
          aria-label={`Number ${label}`}
          placeholder="22"
          maxLength={5}
          value={port}
          onInput={({ currentTarget }) => change({ port: currentTarget.value })}
        />
      )}
    </Rows>
  );
}

interface SecretProps {
  form: LaunchForm;
  onChange(changes: Partial<LaunchForm>): void;
  onNew(): void;
}

function SecretFields({ form, onChange, onNew }: SecretProps) {
  const isSignedIn = session.value === 'in';
  const secrets = useSecrets(isSignedIn).secrets ?? [];
  const values = secrets.filter(({ kind }) => kind === 'VALUE').map(({ name }) => name);
  const logins = secrets.filter(({ kind }) => kind === 'REGISTRY_LOGIN').map(({ name }) => name);
  const empty: SecretRow = { secret: values[0] ?? '', place: 'variable', name: '' };
  return (
    <>
      <Rows
        legend="Secrets"
        one="secret"
        rows={form.secrets}
        empty={empty}
        onChange={(rows) => onChange({ secrets: rows })}
      >
        {({ secret, place, name }, change, label) => (
          <>
            <SecretChoice
              label={`Secret ${label}`}
              none="choose …"
              names={values}
              value={secret}
              onChange={(next) => change({ secret: next })}
            />
            <select
              aria-label={`Place ${label}`}
              value={place}
              onChange={({ currentTarget }) => change({ place: currentTarget.value as SecretRow['place'] })}
            >
              <option value="variable">as the variable</option>
              <option value="file">as the file /run/secrets/</option>
            </select>
            <input
              class="mono"
              aria-label={`Name ${label}`}
              placeholder={place === 'variable' ? 'HF_TOKEN' : 'token'}
              autocomplete="off"
              spellcheck={false}
              value={name}
              onInput={({ currentTarget }) => change({ name: currentTarget.value })}
            />
          </>
        )}
      </Rows>
      {isSignedIn ? (
        <div>
          <button type="button" class="plain" onClick={onNew}>
            Make a new secret …
          </button>
        </div>
      ) : (
        <p class="small quiet">Sign in to use your secrets.</p>
      )}
      {(logins.length > 0 || form.registryLogin !== '') && (
        <div class="field">
          <span>Login that the image is pulled with</span>
          <SecretChoice
            label="Login that the image is pulled with"
            none="none: the image is public"
            names={logins}
            value={form.registryLogin}
            onChange={(registryLogin) => onChange({ registryLogin })}
          />
        </div>
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  none: string;
  names: readonly string[];
  value: string;
  onChange(name: string): void;
}

function SecretChoice({ label, none, names, value, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{none}</option>
      {value !== '' && !names.includes(value) && <option value={value}>{value}</option>}
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
