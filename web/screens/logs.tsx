import { signal, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { number } from '../figures/number.js';
import { logAddress } from '../graph/files.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { Failure } from '../parts/notice.js';
import { usePageClass } from '../parts/use-page-class.js';
import { keepChoice, keptChoice } from '../state/kept-choice.js';
import {
  type Block,
  findIn,
  followLog,
  type LevelFilter,
  type LogLine,
  levelFilter,
  MAX_LINES,
  patternOf,
  TAIL,
} from '../state/log-lines.js';
import { download } from '../state/save-file.js';
import { isDialogOpen, isTyping, singleKeys } from '../state/shortcuts.js';
import { texts } from '../texts/en/logs.js';

/** The view follows new lines while it is within this many pixels of the end. */
const NEAR_PX = 24;

/** Whether the user wants to see times. The choice lasts as long as the page is open. */
const hasTimes = signal(false);

/** The choice to wrap lines is kept in the browser. */
const WRAP = 'log-wrap';
const isWrapped = signal(keptChoice(WRAP) !== 'no');

function toggleWrap(): void {
  isWrapped.value = !isWrapped.value;
  keepChoice(WRAP, isWrapped.value ? 'yes' : 'no');
}

const toggleTimes = () => {
  hasTimes.value = !hasTimes.value;
};

/** The selected search match, or a whole line. */
interface Match {
  line: number;
  place: number;
}

const WHOLE_LINE = -1;

/** Shows the container's output live. */
export function Logs({ id }: { id: string }) {
  const log = useMemo(() => followLog(id), [id]);
  useEffect(() => log.end, [log]);
  // If the log fails, the page's own line shows whether the service is still connected.
  usePageClass('filled', 'one-window', ...(log.error.value === null ? ['live-inside'] : []));
  const view = useRef<HTMLDivElement>(null);
  const isAtEnd = useSignal(true);
  const wanted = useSignal('');
  /** The selected match, which stays on its line while new lines arrive. */
  const chosen = useSignal<Match | null>(null);
  const level = useSignal<LevelFilter>('all');
  const narrow = useComputed(() => levelFilter(level.value));
  const shown = useComputed(() => (log.blocks.value === null ? null : narrow.value(log.blocks.value)));
  const matches = useComputed(() => findIn(shown.value ?? [], wanted.value));
  const toEnd = () => {
    if (view.current !== null) view.current.scrollTop = view.current.scrollHeight;
  };
  useSignalEffect(() => {
    shown.value;
    hasTimes.value;
    isWrapped.value;
    requestAnimationFrame(() => isAtEnd.peek() && toEnd());
  });
  const choose = (step: 1 | -1) => {
    const found = matches.value;
    if (found.length === 0) return;
    const now = placeOf(found, chosen.value);
    const next = now < 0 ? found.length - 1 : (now + step + found.length) % found.length;
    show(found[next]!);
  };
  const show = (match: Match) => {
    isAtEnd.value = false;
    chosen.value = match;
    // This is done twice, because content is only laid out when it comes into view and may then be taller than
    // estimated.
    requestAnimationFrame(() => {
      showMatch(view.current);
      requestAnimationFrame(() => showMatch(view.current));
    });
  };
  const marked = useComputed(() => {
    const all = (log.blocks.value ?? []).flatMap(({ lines: ofBlock }) => ofBlock);
    const keys = (of: LogLine['level']) => all.filter((line) => line.level === of).map(({ key }) => key);
    return { all: all.length, bad: keys('bad'), warn: keys('warn') };
  });
  const { all: lines, bad, warn } = marked.value;
  /** Shows the previous error among the lines around it, starting with the newest. */
  const showError = () => {
    const before = bad.findLast((key) => chosen.value !== null && key < chosen.value.line) ?? bad.at(-1);
    if (before === undefined) return;
    level.value = 'all';
    show({ line: before, place: WHOLE_LINE });
  };
  useErrorKey(showError);
  const blocks = shown.value;
  const count = matches.value.length;
  const at = placeOf(matches.value, chosen.value);
  const address = logAddress(id, hasTimes.value);
  return (
    <section class="panel log-panel fills" aria-label={texts.title}>
      <div class="panel-head toolbar">
        <form
          class="row log-search"
          onSubmit={(event) => {
            event.preventDefault();
            choose(-1);
          }}
        >
          <div class="search-field">
            <Icon name="search" />
            <input
              type="search"
              aria-label={texts.search}
              placeholder={texts.searchShort}
              value={wanted.value}
              onInput={({ currentTarget }) => {
                wanted.value = currentTarget.value;
                chosen.value = null;
              }}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || !event.shiftKey) return;
                event.preventDefault();
                choose(1);
              }}
            />
          </div>
          <span role="status" class="small quiet figure">
            {wanted.value !== '' && (at < 0 ? texts.found(count) : texts.at(at + 1, count))}
          </span>
          {wanted.value !== '' && (
            <>
              <button type="submit" class="ghost" aria-label={texts.before} disabled={count === 0}>
                <Icon name="chevron-up" />
              </button>
              <button
                type="button"
                class="ghost"
                aria-label={texts.next}
                disabled={count === 0}
                onClick={() => choose(1)}
              >
                <Icon name="chevron-down" />
              </button>
            </>
          )}
        </form>
        {(level.value !== 'all' || bad.length + warn.length > 0) && (
          <fieldset class="segments log-levels" aria-label={texts.levels}>
            {(
              [
                ['all', lines],
                ['warn', warn.length],
                ['bad', bad.length],
              ] as const
            ).map(([value, total]) => (
              <button
                key={value}
                type="button"
                aria-pressed={level.value === value}
                onClick={() => {
                  level.value = value;
                  chosen.value = null;
                }}
              >
                {texts.level[value]}
                <span class={`figure ${total > 0 ? value : 'quiet'}`}>{number(total)}</span>
              </button>
            ))}
          </fieldset>
        )}
        <div class="row log-options">
          <Toggle name={texts.times} icon="clock" isOn={hasTimes.value} onToggle={toggleTimes} />
          <Toggle name={texts.wrap} icon="wrap-text" isOn={isWrapped.value} onToggle={toggleWrap} />
          <a class="button" href={address} download>
            <Icon name="download" />
            {texts.download}
          </a>
        </div>
        <div class="log-menu">
          <Menu
            label={texts.options}
            items={[
              {
                name: hasTimes.value ? texts.hideTimes : texts.showTimes,
                icon: 'clock',
                onChoose: toggleTimes,
              },
              {
                name: isWrapped.value ? texts.dontWrap : texts.doWrap,
                icon: 'wrap-text',
                onChoose: toggleWrap,
              },
              { name: texts.download, icon: 'download', onChoose: () => download(address, '') },
            ]}
          />
        </div>
      </div>
      <Failure error={log.error.value} />
      <div class="log-frame">
        {/* biome-ignore lint/a11y/useSemanticElements: lines are no fields */}
        <div
          ref={view}
          class={`log mono${isWrapped.value ? '' : ' unwrapped'}${hasTimes.value ? ' timed' : ''}`}
          role="group"
          aria-label={texts.lines}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            isAtEnd.value = scrollHeight - clientHeight - scrollTop < NEAR_PX;
          }}
        >
          {blocks === null && log.error.value === null && <span class="quiet">{texts.moment}</span>}
          {blocks?.length === 0 && <span class="quiet">{lines === 0 ? texts.nothing : texts.noneOfLevel}</span>}
          {blocks?.map((block) => (
            <Lines
              key={block.key}
              block={block}
              wanted={wanted.value}
              chosen={isWithin(block, chosen.value) ? chosen.value : null}
              isTimed={hasTimes.value}
            />
          ))}
        </div>
        {!isAtEnd.value && (
          <button
            type="button"
            class="log-to-end"
            onClick={() => {
              isAtEnd.value = true;
              toEnd();
              view.current?.focus({ preventScroll: true });
            }}
          >
            <Icon name="arrow-down" />
            {texts.toNewest}
          </button>
        )}
      </div>
      <div class="small quiet log-foot">
        <span>
          {blocks !== null && log.error.value === null && (
            <>
              <span class="dot good" aria-hidden="true" />
              {texts.live(lines)}
            </>
          )}
        </span>
        {bad.length > 0 && (
          <span>
            <button type="button" class="plain" aria-keyshortcuts="e" onClick={showError}>
              {texts.previousError}
            </button>
            {singleKeys.value && <kbd>e</kbd>}
          </span>
        )}
        {lines >= TAIL && <span class="log-cut">{texts.cut(MAX_LINES)}</span>}
      </div>
    </section>
  );
}

interface ToggleProps {
  name: string;
  icon: string;
  isOn: boolean;
  onToggle(): void;
}

const Toggle = ({ name, icon, isOn, onToggle }: ToggleProps) => (
  <button type="button" class="toggle" aria-pressed={isOn} onClick={onToggle}>
    <Icon name={icon} />
    {name}
  </button>
);

/** Calls `show` when the key for errors is pressed outside text fields. */
function useErrorKey(show: () => void): void {
  const latest = useRef(show);
  latest.current = show;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isAlone = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key !== 'e' || !isAlone || !singleKeys.value || isTyping(event) || isDialogOpen()) return;
      latest.current();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

interface LinesProps {
  block: Block;
  wanted: string;
  chosen: Match | null;
  isTimed: boolean;
}

/** Shows a block of lines, which is only redrawn when its content changes. */
function Lines({ block, wanted, chosen, isTimed }: LinesProps) {
  return useMemo(() => {
    const pattern = patternOf(wanted);
    return (
      <div class="log-block">
        {block.lines.map((line) => (
          <Line
            key={line.key}
            line={line}
            pattern={pattern}
            chosen={chosen?.line === line.key ? chosen.place : null}
            isTimed={isTimed}
          />
        ))}
      </div>
    );
  }, [block, wanted, chosen, isTimed]);
}

interface LineProps {
  line: LogLine;
  pattern: RegExp | null;
  /** The selected match, counted from 0, or `WHOLE_LINE`. Null if nothing in this line is selected. */
  chosen: number | null;
  isTimed: boolean;
}

function Line({ line: { number, time, isError, text, level }, pattern, chosen, isTimed }: LineProps) {
  return (
    <div class={`log-line ${level ?? ''}${chosen === WHOLE_LINE ? ' current' : ''}`} data-number={number}>
      {isTimed && <time dateTime={time} title={time}>{`${time.slice(11, 23)} `}</time>}
      {isError && <code class="log-mark">err</code>}
      <span class="log-text">{pattern === null ? text || '\u200b' : withMarks(text, pattern, chosen)}</span>
    </div>
  );
}

function withMarks(text: string, pattern: RegExp, chosen: number | null) {
  const parts = [];
  let end = 0;
  let place = 0;
  for (const { index, 0: found } of text.matchAll(pattern)) {
    parts.push(text.slice(end, index), <mark class={place === chosen ? 'current' : ''}>{found}</mark>);
    end = index + found.length;
    place += 1;
  }
  return [...parts, text.slice(end)];
}

/** Scrolls the lines so that the selected match is in the middle, and moves the page itself as little as possible. */
function showMatch(view: HTMLElement | null): void {
  const mark = view?.querySelector('.current');
  if (view === null || !mark) return;
  view.scrollTop += mark.getBoundingClientRect().top - view.getBoundingClientRect().top - view.clientHeight / 2;
  mark.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function placeOf(matches: readonly Match[], chosen: Match | null): number {
  return chosen === null ? -1 : matches.findIndex(({ line, place }) => line === chosen.line && place === chosen.place);
}

function isWithin({ lines }: Block, chosen: Match | null): boolean {
  return chosen !== null && chosen.line >= lines[0]!.key && chosen.line <= lines.at(-1)!.key;
}
