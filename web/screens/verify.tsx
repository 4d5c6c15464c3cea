import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type Finding,
  findingText,
  type StatementSummary,
  unreadFile,
  type Verification,
  verify,
} from '../../src/verify/verify.js';
import { usd } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { FileChooser } from '../parts/file-chooser.js';
import { Fold } from '../parts/fold.js';
import { Languages } from '../parts/languages.js';
import icon from '../public/icon.svg';
import { brandName } from '../state/brand.js';
import { texts as head } from '../texts/en/head.js';
import { texts as house } from '../texts/en/house.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/verify.js';

interface Given {
  /** The file's name, which is unique among the files given. */
  name: string;
  content: Uint8Array;
  /** Why the file can't be opened; null if it can. */
  unread: string | null;
}

/** Files with their result, which are shown together. */
interface Checked {
  files: readonly Given[];
  result: Verification;
}

/** The example of a result, for a made-up statement. */
const EXAMPLE: StatementSummary = {
  file: 'statement-2026-10.json',
  account: 'acc-5d0f61b27c9e3a48',
  from: '2026-10-01T00:00:00Z',
  to: '2026-11-01T00:00:00Z',
  lines: 42,
  opening: '72000000000',
  closing: '60427756800',
  change: '-11572243200',
  invoiceHash: '9c1e4b7a52d08f36c3b1e97d20a64f8518b7d3e6095ac2f41d7e08b69a35c2f0',
  covered: { link: 118, root: 12 },
};
/** Maximum number of findings shown per file. */
const SHOWN = 100;
const UNITS_PER_MICRO_USD = 3_600n;
/** The drawing of a check mark. */
const TICK = 'M20 6 9 17l-5-5';
/** A saved copy of the page has no service to link to. */
const isSaved = location.protocol === 'file:';

/**
 * The page that verifies statements and other proofs. Everything happens in the browser, and the page's policy allows
 * no requests. It is separate from the console, so it needs no session and also works when saved.
 */
export function Verify() {
  const [files, setFiles] = useState<readonly Given[]>([]);
  const [checked, setChecked] = useState<Checked | null>(null);
  const add = async (chosen: readonly File[]) => {
    const read = await Promise.all(chosen.map(readFile));
    setFiles((before) => read.reduce(withFile, before));
  };
  const isOver = useDrop(add);
  useEffect(() => {
    const result = verify(files.filter((each) => !isUnread(each)));
    setChecked(files.length === 0 ? null : { files, result });
  }, [files]);
  const remove = (name: string) => {
    setFiles(files.filter((each) => each.name !== name));
    // The button that was pressed no longer exists.
    document.querySelector<HTMLElement>('main h1')?.focus();
  };
  return (
    <>
      <a class="skip" href="#main">
        {house.skip}
      </a>
      <Head />
      <main id="main" tabIndex={-1}>
        <div class="stack verify">
          <div class="stack-tight">
            <h1 tabIndex={-1}>{texts.title}</h1>
            <p class="quiet">{texts.what}</p>
          </div>
          <Steps />
          <Choose isOver={isOver} onChosen={add} />
          <div role="status">{checked !== null && <Verdict of={checked} />}</div>
          {checked !== null && <Files of={checked} onRemove={remove} />}
          {checked === null && <Example />}
          <Fold title={texts.experts}>
            <p class="small quiet">{texts.which}</p>
          </Fold>
        </div>
      </main>
      <footer class="status-line">
        <span>{brandName}</span>
        {!isSaved && (
          <span class="row">
            <Languages />
          </span>
        )}
      </footer>
    </>
  );
}

function Head() {
  const brand = (
    <>
      <img src={icon} alt="" />
      <span>{brandName}</span>
    </>
  );
  return (
    <header class="head">
      <div class="head-inner">
        {isSaved ? (
          <span class="brand">{brand}</span>
        ) : (
          <>
            <a class="brand" href="/">
              {brand}
            </a>
            <nav class="nav" aria-label={head.screens}>
              <a href="/machines">
                {/* A server, as in the console's head. */}
                <Drawing of="M4 2h16a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2Zm0 12h16a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2v-4a2 2 0 0 1 2-2ZM6 6h.01M6 18h.01" />
                {screens['/machines']}
              </a>
              <a href="/graphql">
                <Drawing of="m16 18 6-6-6-6M8 6l-6 6 6 6" />
                {head.api}
              </a>
            </nav>
            <div class="head-end">
              <a class="button" href="/sign-in">
                {head.signIn}
              </a>
            </div>
          </>
        )}
      </div>
    </header>
  );
}

/** An icon. The page may load nothing, so its icons are part of it. */
const Drawing = ({ of }: { of: string }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={of} />
  </svg>
);

function Choose({ isOver, onChosen }: { isOver: boolean; onChosen(files: readonly File[]): void }) {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <section class={`panel drop${isOver ? ' over' : ''}`} aria-labelledby="choose">
      {/* A page with a check mark. */}
      <Drawing of="M14 2H6a2 2 0 0 0-2 2v16a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8Zm0 0v6h6M9 15l2 2 4-4" />
      <h2 id="choose">{texts.drop}</h2>
      <p class="small quiet">{texts.offline}</p>
      <button type="button" class="primary" onClick={() => chooser.current?.click()}>
        {texts.choose}
      </button>
      <FileChooser chooser={chooser} label={texts.choose} onChosen={onChosen} />
    </section>
  );
}

/** Explains in three steps how to verify a statement. */
function Steps() {
  const billing = screens['/billing'];
  const steps = [
    [texts.getStatement, texts.statementFrom(isSaved ? billing : <a href="/billing">{billing}</a>)],
    [
      texts.getProofs,
      isSaved
        ? texts.savedProofs
        : texts.fromService(
            <a href="/.well-known/gpu-rental/keys.json" download="keys.json">
              {texts.keys}
            </a>,
            <a href="/v1/log/roots" download="roots.json">
              {texts.roots}
            </a>,
          ),
    ],
    [texts.giveAll, texts.giveAllBelow],
  ] as const;
  return (
    <section class="panel" aria-label={texts.how}>
      <ol class="verify-steps">
        {steps.map(([name, how]) => (
          <li key={name}>
            <h2>{name}</h2>
            <p class="small quiet">{how}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Shows what a verified statement looks like. */
const Example = () => (
  <section class="panel" aria-labelledby="example">
    <div class="panel-head">
      <h2 id="example">{texts.example}</h2>
    </div>
    <div class="verified-one">
      <span class="row">
        <strong>{EXAMPLE.file}</strong>
        <State faults={[]} unchecked={[]} />
      </span>
      <Summary of={EXAMPLE} />
    </div>
  </section>
);

/** The result of all files together. */
function Verdict({ of: { files, result } }: { of: Checked }) {
  const { faults, unchecked, statements, keys, roots } = result;
  if (faults.length > 0) return <p class="notice bad">{texts.something}</p>;
  if (unchecked.length > 0 || files.some(isUnread)) return <p class="notice warn">{texts.nothingWrong}</p>;
  return <p class="notice good">{texts.everything(statements.length, keys, roots)}</p>;
}

function Files({ of: { files, result }, onRemove }: { of: Checked; onRemove(name: string): void }) {
  const isSound = result.exitCode === 0 && !files.some(isUnread);
  return (
    <section class="panel" aria-labelledby="files">
      <div class="panel-head">
        <h2 id="files">{texts.files}</h2>
      </div>
      <ul class="verified">
        {files.map(({ name, unread }) => {
          const isOf = ({ file }: { file: string }) => fileOf(file, files) === name;
          const faults = result.faults.filter(isOf);
          const unchecked = result.unchecked.filter(isOf);
          if (unread !== null) unchecked.push(unreadFile(name, unread));
          return (
            <li key={name} class="verified-one">
              <div class="row between">
                <span class="row">
                  <strong class="verified-name">
                    <bdi>{visible(name)}</bdi>
                  </strong>
                  <State faults={faults} unchecked={unchecked} />
                </span>
                <button
                  type="button"
                  class="plain"
                  aria-label={texts.removeFile(visible(name))}
                  onClick={() => onRemove(name)}
                >
                  {house.remove}
                </button>
              </div>
              <FindingList of={[...faults, ...unchecked]} name={name} />
              {isSound && result.statements.filter(isOf).map((each) => <Summary key={each.file} of={each} />)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function State({ faults, unchecked }: { faults: readonly Finding[]; unchecked: readonly Finding[] }) {
  if (faults.length > 0) return <span class="badge bad">{texts.states.fault}</span>;
  if (unchecked.length > 0) return <span class="badge warn">{texts.states.unchecked}</span>;
  return (
    <span class="badge good">
      <Drawing of={TICK} />
      {texts.states.sound}
    </span>
  );
}

/** Lists findings in the words of `gpu verify`, which are English. */
function FindingList({ of: findings, name }: { of: readonly Finding[]; name: string }) {
  if (findings.length === 0) return null;
  return (
    <>
      <ul class="findings">
        {findings.slice(0, SHOWN).map((finding) => (
          <li>
            <strong>{texts.checks[finding.check]}</strong>{' '}
            {finding.file !== name && `${texts.line(Number(finding.file.slice(name.length + 1)))} `}
            <span class="mono" lang="en">
              {visible(findingText(finding))}
            </span>
          </li>
        ))}
      </ul>
      {findings.length > SHOWN && <p class="small quiet">{texts.more(findings.length - SHOWN)}</p>}
    </>
  );
}

/** Lists what was checked in a statement that verifies, and below it, what the statement is about. */
function Summary({ of }: { of: StatementSummary }) {
  const { account, from, to, lines, opening, change, closing, covered, invoiceHash } = of;
  const checks = [
    [texts.checks.lines, texts.linesAdd(lines), true],
    [
      texts.checks.balance,
      texts.sum(
        amount(opening),
        change.startsWith('-'),
        amount(change.replace('-', '')),
        <strong>{amount(closing)}</strong>,
      ),
      true,
    ],
    [texts.checks.signature, texts.signed, true],
    [texts.log, covered === null ? texts.notCovered : texts.covered(covered.link, covered.root), covered !== null],
  ] as const;
  const facts = [
    [texts.account, <span class="mono">{visible(account)}</span>],
    [texts.period, house.period(instant(from), instant(to))],
    [texts.invoiceHash, <span class="mono">{invoiceHash}</span>],
  ] as const;
  return (
    <table class="checked small">
      <tbody>
        {checks.map(([name, result, isSound]) => (
          <tr key={name}>
            <td class="good">{isSound && <Drawing of={TICK} />}</td>
            <th scope="row">{name}</th>
            <td>{result}</td>
          </tr>
        ))}
      </tbody>
      <tbody>
        {facts.map(([name, value]) => (
          <tr key={name}>
            <td />
            <th scope="row" class="quiet">
              {name}
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Formats an instant in UTC, as a day if it is the day's first second. */
const instant = (at: string): string => at.replace('T00:00:00Z', '').replace('T', ' ').replace('Z', ' UTC');

const isUnread = ({ unread }: Given): boolean => unread !== null;

/** Formats an amount in units, without what is less than a micro-USD. */
const amount = (units: string): string => usd(BigInt(units) / UNITS_PER_MICRO_USD, 6);

/** Returns the name of the file that a finding refers to, which may be followed by the document's line. */
function fileOf(where: string, files: readonly Given[]): string | undefined {
  const isFile = (file: string) => files.some(({ name }) => name === file);
  return isFile(where) ? where : where.replace(/:\d+$/, '');
}

async function readFile(file: File): Promise<Given> {
  try {
    return { name: file.name, content: new Uint8Array(await file.arrayBuffer()), unread: null };
  } catch (error) {
    // Folders can be dropped, but not read.
    return { name: file.name, content: new Uint8Array(), unread: (error as Error).name };
  }
}

/** Adds a file, with a number in its name if another file has the same name. */
function withFile(files: readonly Given[], file: Given): readonly Given[] {
  const isTaken = (name: string) => files.some((each) => each.name === name);
  let { name } = file;
  for (let number = 2; isTaken(name); number += 1) name = `${file.name} (${number})`;
  return [...files, { ...file, name }];
}

/** Accepts files dropped anywhere on the page, and returns whether files are being dragged over it. */
function useDrop(onDropped: (files: readonly File[]) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setIsOver(false);
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      onDropped([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }, []);
  return isOver;
}
