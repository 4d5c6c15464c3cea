import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import type { LineState } from '../state/terminal-line.js';
import { texts } from '../texts/en/terminal.js';
import {
  endTerminal,
  MAX_TERMINALS,
  newTerminal,
  openTerminals,
  readsAloud,
  setReadsAloud,
  type TerminalSession,
  terminalsOf,
} from './terminal-session.js';

/** Shows an instance's terminal tabs, one of which is visible at a time. */
export function Terminals({ id }: { id: string }) {
  const chosen = useSignal<TerminalSession | null>(null);
  useEffect(() => openTerminals(id), [id]);
  const all = terminalsOf(id);
  const shown = all.find((each) => each === chosen.value) ?? all[0] ?? null;
  const begin = (isRoot: boolean) => {
    chosen.value = newTerminal(id, isRoot);
  };
  return (
    <section class="panel terminals" aria-label={texts.title}>
      <div class="terminal-bar">
        {all.map((each) => (
          <Name
            key={each.shell}
            of={each}
            isShown={each === shown}
            onChosen={() => {
              chosen.value = each;
            }}
          />
        ))}
        <button type="button" class="plain" onClick={() => begin(false)} disabled={all.length >= MAX_TERMINALS}>
          <Icon name="plus" />
          {texts.new}
        </button>
        <button type="button" class="plain" onClick={() => begin(true)} disabled={all.length >= MAX_TERMINALS}>
          <Icon name="plus" />
          {texts.newAsRoot}
        </button>
        <label class="small terminal-reader">
          <input
            type="checkbox"
            checked={readsAloud.value}
            onChange={({ currentTarget }) => setReadsAloud(currentTarget.checked)}
          />
          {texts.aloud}
        </label>
      </div>
      {shown !== null && <Shown key={shown.shell} of={shown} onBegin={() => begin(shown.isRoot)} />}
      <p class="small quiet terminal-hint">{texts.hint}</p>
    </section>
  );
}

interface NameProps {
  of: TerminalSession;
  isShown: boolean;
  onChosen(): void;
}

function Name({ of, isShown, onChosen }: NameProps) {
  const { number, title, isRoot } = of;
  return (
    <span class="terminal-name">
      <button type="button" class="plain" aria-pressed={isShown} onClick={onChosen}>
        {isRoot ? texts.nameAsRoot(number) : texts.name(number)}
        {title.value !== '' && <span class="quiet"> {title}</span>}
      </button>
      <button type="button" class="plain" aria-label={texts.close(number)} onClick={() => endTerminal(of)}>
        <Icon name="x" />
      </button>
    </span>
  );
}

function Shown({ of, onBegin }: { of: TerminalSession; onBegin(): void }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    of.show(place.current!);
    of.focus();
    // The connection was refused while the terminal was hidden, but the instance may be running again.
    if (of.line.state.peek().kind === 'refused') of.line.open();
    return () => of.hide();
  }, [of]);
  const state = of.line.state.value;
  const again = () => {
    of.line.open();
    of.focus();
  };
  const restart = () => {
    endTerminal(of);
    onBegin();
  };
  return (
    <>
      <div class="terminal-state" role="status">
        {state.kind === 'open' && of.isNew.value && <p class="notice">{texts.isNew}</p>}
        {state.kind !== 'open' && <State state={state} onAgain={again} onRestart={restart} />}
      </div>
      <div ref={place} class="terminal-place" />
    </>
  );
}

function State({ state, onAgain, onRestart }: { state: LineState; onAgain(): void; onRestart(): void }) {
  switch (state.kind) {
    case 'opening':
      return <p class="notice">{texts.connecting}</p>;
    case 'lost':
      return <p class="notice warn">{texts.lost}</p>;
    case 'taken':
      return (
        <p class="notice row">
          {texts.taken}
          <button type="button" onClick={onAgain}>
            {texts.showHere}
          </button>
        </p>
      );
    case 'exit':
      return (
        <p class="notice row">
          {texts.ended(state.code)}
          <button type="button" onClick={onRestart}>
            {texts.another}
          </button>
        </p>
      );
    case 'refused':
      return (
        <p class="notice warn row">
          <span>{texts.refused(visible(state.message))}</span>
          {!state.again && (
            <button type="button" onClick={onAgain}>
              {texts.again}
            </button>
          )}
        </p>
      );
    default:
      return null;
  }
}
