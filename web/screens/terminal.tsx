import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../figures/visible.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { usePageClass } from '../parts/use-page-class.js';
import { setQuery } from '../state/location.js';
import type { LineState } from '../state/terminal-line.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/terminal.js';
import {
  endTerminal,
  isFullScreenKey,
  MAX_TERMINALS,
  newTerminal,
  openTerminals,
  type PhoneKey,
  readsAloud,
  setReadsAloud,
  type TerminalSession,
  terminalsOf,
} from './terminal-session.js';

interface Props {
  id: string;
  /** The user that the instance was launched with, or null for the image's own. */
  user: string | null;
}

/** Shows an instance's terminal tabs, one of which is visible at a time. */
export function Terminals({ id, user }: Props) {
  const chosen = useSignal<TerminalSession | null>(null);
  const panel = useRef<HTMLElement>(null);
  const { isFull, toggle } = useFullScreen(panel);
  const isHelping = useSignal(false);
  useEffect(() => {
    openTerminals(id);
    // The shell of a new instance is now open.
    setQuery({ new: null }, { replace: true });
  }, [id]);
  usePageClass('filled', 'one-window');
  useVisibleArea();
  const all = terminalsOf(id);
  const shown = all.find((each) => each === chosen.value) ?? all[0] ?? null;
  const begin = (isRoot: boolean) => {
    chosen.value = newTerminal(id, isRoot);
  };
  const asRoot: MenuItem = {
    name: texts.newAsRoot,
    icon: 'square-terminal',
    onChoose: () => begin(true),
  };
  return (
    <section
      ref={panel}
      class="panel terminals fills"
      aria-label={texts.title}
      onKeyDown={(event) => {
        if (!isFullScreenKey(event)) return;
        event.preventDefault();
        toggle();
      }}
    >
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
          <span class="toolbar-text">{texts.new}</span>
        </button>
        <Menu
          label={texts.menu}
          items={[
            ...(user === 'root' || user === '0' || all.length >= MAX_TERMINALS ? [] : [asRoot]),
            {
              name: readsAloud.value ? texts.dontReadAloud : texts.readAloud,
              icon: 'eye',
              onChoose: () => setReadsAloud(!readsAloud.value),
            },
            {
              name: texts.help,
              icon: 'circle-help',
              onChoose: () => {
                isHelping.value = true;
              },
            },
          ]}
        />
        <button
          type="button"
          class="ghost terminal-full"
          aria-label={texts.fullScreen}
          title={texts.fullScreen}
          aria-pressed={isFull}
          onClick={toggle}
        >
          <Icon name={isFull ? 'minimize' : 'maximize'} />
        </button>
      </div>
      {shown !== null && <Shown key={shown.shell} of={shown} onBegin={() => begin(shown.isRoot)} />}
      {isHelping.value && (
        <Help
          onClose={() => {
            isHelping.value = false;
          }}
        />
      )}
    </section>
  );
}

/** Switches an element to full screen and back, which the browser also does when the user presses Escape. */
function useFullScreen(element: RefObject<HTMLElement | null>) {
  const isFull = useSignal(false);
  useEffect(() => {
    const update = () => {
      isFull.value = document.fullscreenElement !== null;
    };
    document.addEventListener('fullscreenchange', update);
    return () => document.removeEventListener('fullscreenchange', update);
  }, []);
  const toggle = () => {
    // The browser may refuse, and then the terminal stays as it is.
    const changed = isFull.value ? document.exitFullscreen() : element.current?.requestFullscreen();
    void changed?.catch(() => {});
    element.current?.querySelector('textarea')?.focus();
  };
  return { isFull: isFull.value, toggle };
}

const Help = ({ onClose }: { onClose(): void }) => (
  <Dialog title={texts.help} isNarrow onClose={onClose}>
    <div class="dialog-body stack">
      <dl class="terminal-keys">
        {texts.keys.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">{texts.hint}</p>
    </div>
  </Dialog>
);

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
    void of.show(place.current!);
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
      <PhoneKeys of={of} />
    </>
  );
}

const PHONE_KEY_LABELS: readonly (readonly [PhoneKey, string])[] = [
  ['interrupt', `${house.control}+C`],
  ['escape', 'Esc'],
  ['tab', 'Tab'],
  ['left', '←'],
  ['up', '↑'],
  ['down', '↓'],
  ['right', '→'],
  ['slash', '/'],
  ['pipe', '|'],
  ['dash', '-'],
];

/** Offers the keys that a phone's keyboard lacks or hides. Ctrl applies to the next key. */
function PhoneKeys({ of }: { of: TerminalSession }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: these are no fields
    <div class="terminal-phone-keys" role="group" aria-label={texts.phoneKeys}>
      <button
        type="button"
        aria-pressed={of.isCtrl.value}
        onMouseDown={keepFocus}
        onClick={() => {
          of.isCtrl.value = !of.isCtrl.value;
        }}
      >
        {house.control}
      </button>
      {PHONE_KEY_LABELS.map(([key, label]) => (
        <button
          key={key}
          type="button"
          aria-label={texts.phoneKey[key]}
          onMouseDown={keepFocus}
          onClick={() => of.press(key)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Without the focus on the terminal, the phone would close its keyboard. */
const keepFocus = (event: MouseEvent) => event.preventDefault();

/** Part of the window's height that only a keyboard takes. */
const KEYBOARD = 0.25;

/**
 * Publishes the area above a phone's keyboard to the style sheet, because the keyboard doesn't change the window's size.
 */
function useVisibleArea(): void {
  useEffect(() => {
    const area = window.visualViewport;
    if (area === null) return;
    const { classList, style } = document.documentElement;
    const update = () => {
      classList.toggle('typing', area.scale === 1 && area.height < innerHeight * (1 - KEYBOARD));
      style.setProperty('--visible-top', `${area.offsetTop}px`);
      style.setProperty('--visible-height', `${area.height}px`);
    };
    area.addEventListener('resize', update);
    area.addEventListener('scroll', update);
    return () => {
      area.removeEventListener('resize', update);
      area.removeEventListener('scroll', update);
      classList.remove('typing');
    };
  }, []);
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
