import { LabelField } from '../parts/labels.js';
import { Rows } from '../parts/rows.js';
import { draft, link } from '../state/launch-draft.js';
import { EXITS, type LaunchForm, RESTARTS, type SecretRow } from '../state/launch-form.js';
import { query, setQuery } from '../state/location.js';
import { session } from '../state/session.js';
import { texts as page } from '../texts/en/deploy.js';
import { texts } from '../texts/en/launch.js';
import { useSecrets } from './secrets.js';

/** Fields for the workload other than its template and disk. */
export function LaunchFields({ onNewSecret }: { onNewSecret(): void }) {
  const form = draft.value;
  const labels = query.value.get('labels') ?? '';
  const change = (changes: Partial<LaunchForm>) => {
    draft.value = { ...draft.value, ...changes };
  };
  return (
    <div class="stack">
      <label class="field">
        <span>{texts.name}</span>
        <input
          name="launch-name"
          maxLength={63}
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.itsId}
          value={form.name}
          onInput={({ currentTarget }) => change({ name: currentTarget.value })}
        />
      </label>
      <LabelField value={labels} onType={(text) => setQuery({ labels: text }, { replace: true })} />
      <Variables rows={form.env} onChange={(env) => change({ env })} />
      <SecretFields form={form} onChange={change} onNew={onNewSecret} />
      <label class="field">
        <span>{texts.command}</span>
        <input
          name="command"
          class="mono"
          autocomplete="off"
          spellcheck={false}
          placeholder={texts.commandHint}
          value={form.command}
          onInput={({ currentTarget }) => change({ command: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{texts.entrypoint}</span>
        <input
          name="entrypoint"
          class="mono"
          autocomplete="off"
          spellcheck={false}
          value={form.entrypoint}
          onInput={({ currentTarget }) => change({ entrypoint: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{texts.user}</span>
        <input
          name="user"
          class="mono"
          maxLength={65}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder={texts.userHint}
          value={form.user}
          onInput={({ currentTarget }) => change({ user: currentTarget.value })}
        />
      </label>
      <Ports rows={form.ports} onChange={(ports) => change({ ports })} />
      <TcpPorts rows={form.tcpPorts} onChange={(tcpPorts) => change({ tcpPorts })} />
      <div class="two">
        <label class="field">
          <span>{texts.restart}</span>
          <select
            name="restart"
            value={form.restart}
            onChange={({ currentTarget }) => {
              const restart = currentTarget.value as LaunchForm['restart'];
              // An instance that always restarts would never end.
              change({ restart, ...(restart === 'ALWAYS' && { onExit: 'KEEP' }) });
            }}
          >
            {Object.entries(RESTARTS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{texts.onExit}</span>
          <select
            name="on-exit"
            disabled={form.restart === 'ALWAYS'}
            value={form.onExit}
            onChange={({ currentTarget }) => change({ onExit: currentTarget.value as LaunchForm['onExit'] })}
          >
            {Object.entries(EXITS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
    </div>
  );
}

/** Warns above the form that a link has filled it in. */
export function LinkNotice() {
  const leftOut = link.value?.leftOut ?? [];
  return (
    <div class="notice warn stack-tight">
      <p>
        <strong>{page.linkStrong}</strong> {page.linkRest}
      </p>
      {leftOut.length > 0 && <p class="small">{page.leftOut(leftOut.join(', '))}</p>}
    </div>
  );
}

function Variables({ rows, onChange }: { rows: LaunchForm['env']; onChange(rows: LaunchForm['env']): void }) {
  return (
    <Rows
      legend={texts.variables}
      one={texts.oneVariable}
      rows={rows}
      empty={{ name: '', value: '' }}
      onChange={onChange}
    >
      {({ name, value }, change, label) => (
        <>
          <input
            class="mono"
            aria-label={texts.nameOf(label)}
            placeholder={texts.variableHint}
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={({ currentTarget }) => change({ name: currentTarget.value })}
          />
          <input
            class="mono"
            aria-label={texts.valueOf(label)}
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
    <Rows legend={texts.webPorts} one={texts.onePort} rows={rows} empty={{ port: '', name: '' }} onChange={onChange}>
      {({ port, name }, change, label) => (
        <>
          <input
            inputMode="numeric"
            aria-label={texts.numberOf(label)}
            placeholder="8000"
            maxLength={5}
            value={port}
            onInput={({ currentTarget }) => change({ port: currentTarget.value })}
          />
          <input
            aria-label={texts.nameOf(label)}
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
    <Rows legend={texts.tcpPorts} one={texts.oneTcpPort} rows={rows} empty={{ port: '' }} onChange={onChange}>
      {({ port }, change, label) => (
        <input
          inputMode="numeric"
          aria-label={texts.numberOf(label)}
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
        legend={texts.secrets}
        one={texts.oneSecret}
        rows={form.secrets}
        empty={empty}
        onChange={(rows) => onChange({ secrets: rows })}
      >
        {({ secret, place, name }, change, label) => (
          <>
            <SecretChoice
              label={texts.secretOf(label)}
              none={texts.choose}
              names={values}
              value={secret}
              onChange={(next) => change({ secret: next })}
            />
            <select
              aria-label={texts.placeOf(label)}
              value={place}
              onChange={({ currentTarget }) => change({ place: currentTarget.value as SecretRow['place'] })}
            >
              <option value="variable">{texts.asVariable}</option>
              <option value="file">{texts.asFile}</option>
            </select>
            <input
              class="mono"
              aria-label={texts.nameOf(label)}
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
            {texts.createSecret}
          </button>
        </div>
      ) : (
        <p class="small quiet">{texts.signInForSecrets}</p>
      )}
      {(logins.length > 0 || form.registryLogin !== '') && (
        <div class="field">
          <span>{texts.login}</span>
          <SecretChoice
            label={texts.login}
            none={texts.noLogin}
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
