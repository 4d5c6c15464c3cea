import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { encodePath, joinPath, stepsOf } from '../figures/path-bytes.js';
import { fileSize } from '../figures/size.js';
import { columnTime, exactTime, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { DiskUse } from '../graph/documents.js';
import { createFolder, type FileEntry, fileAddress, remove } from '../graph/files.js';
import { Dialog } from '../parts/dialog.js';
import { FileChooser } from '../parts/file-chooser.js';
import { Icon } from '../parts/icon.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { usePageClass } from '../parts/use-page-class.js';
import { serverNow } from '../state/clock.js';
import { type FolderView, openFolder } from '../state/folder.js';
import { go, query, setQuery, withQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { download } from '../state/save-file.js';
import { addUploads, MAX_UPLOADS, uploadsDone } from '../state/uploads.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/files.js';
import { texts as house } from '../texts/en/house.js';
import { locale } from '../texts/en/locale.js';
import { Uploads } from './uploads.js';

interface Props {
  id: string;
  volumes: readonly { path: string; sizeGb: number }[];
  /** Size of the instance's own disk. */
  diskGb: number;
}

const WORKSPACE = '/workspace';
/** Number of places that every instance has: the working folder and the root. */
const MAIN_PLACES = 2;
/** Number of rows drawn at first, and number added each time the user requests more. */
const ROWS = 500;
/** The parameter with the text that the listed names contain. */
const FIND = 'find';

type Order = 'name' | 'size' | 'modifiedAt';

/** Shows a running instance's files, starting in the working folder or a volume. */
export function Files({ id, volumes, diskGb }: Props) {
  const view = useMemo(() => openFolder(id), [id]);
  const requested = query.value.get('path');
  const places = [...new Set([WORKSPACE, ...volumes.map(({ path }) => path)].map((path) => encodePath(path))), '/'];
  const kept = places.join(' ');
  useEffect(() => view.go(requested === null ? places : [requested]), [view, requested, kept]);
  useEffect(() => uploadsDone.subscribe(() => view.again()), [view]);
  useEffect(() => view.end, [view]);
  usePageClass('filled');
  // The machine measures the disk of the working folder, which may be a volume.
  const workspace = volumes.find(({ path }) => path === WORKSPACE);
  return (
    <div class="stack fills">
      <Uploads id={id} />
      <FolderPanel id={id} view={view} places={places} diskGb={workspace?.sizeGb ?? diskGb} />
    </div>
  );
}

interface FolderProps {
  id: string;
  view: FolderView;
  places: readonly string[];
  /** Size of the disk that contains the working folder. */
  diskGb: number;
}

function FolderPanel({ id, view, places, diskGb }: FolderProps) {
  const problem = useSignal<string | null>(null);
  const isOver = useSignal(false);
  const isCreating = useSignal(false);
  const chooser = useRef<HTMLInputElement>(null);
  const path = view.path.value;
  const folder = view.folder.value;

  const add = (files: readonly File[]) => {
    const names = new Set(folder?.entries.map(({ name }) => name));
    const isAdded = addUploads(id, path, files, (name) => names.has(name));
    problem.value = isAdded ? null : texts.tooMany(MAX_UPLOADS);
  };
  const create = () => {
    isCreating.value = true;
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    isOver.value = false;
    const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file');
    const isFolder = (item: DataTransferItem) => item.webkitGetAsEntry?.()?.isDirectory === true;
    const files = items.filter((item) => !isFolder(item)).flatMap((item) => item.getAsFile() ?? []);
    if (files.length > 0) add(files);
    if (items.some(isFolder)) problem.value = texts.noFolders;
  };

  return (
    <section
      class={`panel files${isOver.value ? ' over' : ''}`}
      aria-label={texts.title}
      onDragOver={(event) => {
        if (folder === null || !event.dataTransfer?.types.includes('Files')) return;
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) isOver.value = false;
      }}
      onDrop={drop}
    >
      <div class="panel-head toolbar">
        <div class="file-way">
          <Steps path={path} />
          {places.length > MAIN_PLACES && <Places places={places} />}
          <FreeSpace id={id} diskGb={diskGb} />
        </div>
        <div class="search-field">
          <Icon name="search" />
          <input
            type="search"
            aria-label={texts.find}
            placeholder={texts.findShort}
            value={query.value.get(FIND) ?? ''}
            onInput={({ currentTarget }) => setQuery({ [FIND]: currentTarget.value }, { replace: true })}
          />
        </div>
        <div class="row">
          <button
            type="button"
            class="ghost file-wide"
            aria-label={texts.readAgain}
            title={texts.readAgain}
            onClick={() => view.again()}
          >
            <Icon name="refresh-cw" />
          </button>
          <button type="button" class="file-wide" disabled={folder === null} onClick={create}>
            <Icon name="folder-plus" />
            {texts.newFolder}
          </button>
          <button type="button" class="primary" disabled={folder === null} onClick={() => chooser.current?.click()}>
            <Icon name="upload" />
            {texts.upload}
          </button>
          <FileChooser chooser={chooser} label={texts.toUpload} onChosen={add} />
          <div class="file-menu">
            <Menu
              label={texts.options}
              items={[
                ...(folder === null ? [] : [{ name: texts.newFolder, icon: 'folder-plus', onChoose: create }]),
                { name: texts.readAgain, icon: 'refresh-cw', onChoose: () => view.again() },
              ]}
            />
          </div>
        </div>
      </div>
      {problem.value !== null && (
        <p class="notice warn" role="alert">
          {problem.value}
        </p>
      )}
      <Failure error={view.error.value} />
      {folder === null
        ? view.error.value === null && <p class="padded quiet">{texts.reading}</p>
        : view.error.value === null && <Entries key={path} id={id} view={view} path={path} folder={folder} />}
      {folder !== null && view.error.value === null && (
        <div class="drop-zone">
          {folder.entries.length === 0 ? (
            <Empty icon="folder" title={texts.empty}>
              {texts.emptyHint}
            </Empty>
          ) : (
            <p class="small quiet drop-hint">
              <Icon name="upload" />
              {texts.dropHint}
            </p>
          )}
        </div>
      )}
      {isCreating.value && (
        <NewFolder
          id={id}
          path={path}
          onClose={(isMade) => {
            isCreating.value = false;
            if (isMade) view.again();
          }}
        />
      )}
    </section>
  );
}

const GB = 1_000_000_000;

/** Shows how much of the disk is free, if the machine reports it. */
function FreeSpace({ id, diskGb }: Pick<FolderProps, 'id' | 'diskGb'>) {
  const used = useRead(DiskUse, { id }, uploadsDone).data.value?.instance?.load?.diskUsedBytes ?? null;
  if (used === null) return null;
  const all = diskGb * GB;
  return (
    <span class="file-free small quiet figure" title={texts.used(fileSize(used), fileSize(all))}>
      {texts.free(fileSize(Math.max(0, all - used)))}
    </span>
  );
}

const atPath = (path: string) => withQuery({ tab: 'files', path, [FIND]: null });

/** Shows the path from the root, in which each folder is a link. */
function Steps({ path }: { path: string }) {
  const steps = stepsOf(path);
  return (
    <nav aria-label={texts.folder} class="path-steps mono">
      <ol>
        {steps.map((step, place) => (
          <li key={step.path}>
            <a
              href={atPath(step.path)}
              aria-current={place === steps.length - 1 ? 'location' : undefined}
              aria-label={place === 0 ? texts.root : undefined}
              title={place === 0 ? texts.root : undefined}
            >
              {place === 0 ? <Icon name="server" /> : <bdi>{visible(step.name)}</bdi>}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Lists the folders that usually contain a renter's files, including the volumes. */
const Places = ({ places }: { places: readonly string[] }) => (
  <Menu
    label={texts.places}
    items={places.map((place) => ({
      name: place === '/' ? texts.root : place === WORKSPACE ? texts.workspace : visible(stepsOf(place).at(-1)!.name),
      icon: place === '/' ? 'server' : place === WORKSPACE ? 'folder' : 'hard-drive',
      onChoose: () => go(atPath(place)),
    }))}
  />
);

interface EntriesProps {
  id: string;
  view: FolderView;
  path: string;
  folder: NonNullable<FolderView['folder']['value']>;
}

function Entries({ id, view, path, folder }: EntriesProps) {
  const order = useSignal<Order>('name');
  const isBackwards = useSignal(false);
  const most = useSignal(ROWS);
  const removing = useSignal<FileEntry | null>(null);
  const find = query.value.get(FIND) ?? '';
  const all = useMemo(
    () => sorted(folder.entries, order.value, isBackwards.value),
    [folder, order.value, isBackwards.value],
  );
  const entries = useMemo(() => all.filter(({ name }) => hasText(name, find)), [all, find]);
  if (all.length === 0) return null;
  const heading = (by: Order, name: string, isNumber = false) => (
    <th
      scope="col"
      class={isNumber ? 'number' : ''}
      aria-sort={order.value === by ? (isBackwards.value ? 'descending' : 'ascending') : undefined}
    >
      <button
        type="button"
        class="sort"
        onClick={() => {
          isBackwards.value = order.value === by && !isBackwards.value;
          order.value = by;
        }}
      >
        {name}
        {order.value === by && <Icon name={isBackwards.value ? 'arrow-down' : 'arrow-up'} />}
      </button>
    </th>
  );
  return (
    <>
      {!folder.isWhole && <p class="notice warn">{texts.notWhole}</p>}
      <p role="status" class={entries.length === 0 ? 'padded quiet' : 'hidden'}>
        {find !== '' && (entries.length === 0 ? texts.noneFound : texts.found(entries.length))}
      </p>
      <table class="cards" hidden={entries.length === 0}>
        <caption class="hidden">{texts.inFolder}</caption>
        <thead>
          <tr>
            {heading('name', texts.columns.name)}
            {heading('size', texts.columns.size, true)}
            {heading('modifiedAt', texts.columns.modifiedAt, true)}
            <th scope="col">
              <span class="hidden">{texts.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.slice(0, most.value).map((entry) => (
            <Entry
              key={entry.encoded}
              id={id}
              path={path}
              entry={entry}
              onRemove={() => {
                removing.value = entry;
              }}
            />
          ))}
        </tbody>
      </table>
      {entries.length > most.value && (
        <p class="padded">
          <button
            type="button"
            onClick={() => {
              most.value += ROWS;
            }}
          >
            {texts.more}
          </button>{' '}
          <span class="quiet small">{texts.shown(most.value, entries.length)}</span>
        </p>
      )}
      {removing.value !== null && (
        <Remove
          id={id}
          path={path}
          entry={removing.value}
          onClose={(isRemoved) => {
            removing.value = null;
            if (isRemoved) view.again();
          }}
        />
      )}
    </>
  );
}

interface EntryProps {
  id: string;
  path: string;
  entry: FileEntry;
  onRemove(): void;
}

function Entry({ id, path, entry, onRemove }: EntryProps) {
  const { name, encoded, kind, isLink, size, modifiedAt } = entry;
  const at = joinPath(path, encoded);
  const shown = visible(name);
  const address = fileAddress(id, 'file', at);
  const removal: MenuItem = {
    name: texts.doDelete,
    label: texts.delete(shown),
    icon: 'trash-2',
    isDanger: true,
    onChoose: onRemove,
  };
  const items: MenuItem[] = [
    ...(kind === 'file'
      ? [
          {
            name: texts.doDownload,
            label: texts.download(shown),
            icon: 'download',
            onChoose: () => download(address, shown),
          },
        ]
      : []),
    removal,
  ];
  return (
    <tr>
      <th scope="row" class="wide entry-name">
        <Icon name={kind === 'folder' ? 'folder' : isLink ? 'link' : kind === 'file' ? 'file' : 'square'} />
        {kind === 'folder' ? (
          <a href={atPath(at)}>
            <bdi>{shown}</bdi>
          </a>
        ) : kind === 'file' ? (
          <a href={address} download={shown}>
            <bdi>{shown}</bdi>
          </a>
        ) : (
          <bdi>{shown}</bdi>
        )}
        {isLink && <span class="badge">{kind === 'link' ? texts.brokenLink : texts.link}</span>}
        {kind === 'other' && <span class="badge">{texts.special}</span>}
      </th>
      {kind === 'file' && !isLink ? (
        <td class="number" data-label={texts.columns.size}>
          {fileSize(size)}
        </td>
      ) : (
        <td class="no-card" />
      )}
      <td class="number quiet" data-label={texts.columns.modifiedAt}>
        {modifiedAt !== null && (
          <time dateTime={modifiedAt} title={exactTime(secondsOf(modifiedAt))}>
            {columnTime(secondsOf(modifiedAt), serverNow.peek())}
          </time>
        )}
      </td>
      <td class="at-end">
        <Menu label={house.actionsOf(shown)} items={items} />
      </td>
    </tr>
  );
}

/** Sorts entries, with folders first. */
function sorted(entries: readonly FileEntry[], order: Order, isBackwards: boolean): readonly FileEntry[] {
  const compare = (one: FileEntry, other: FileEntry): number => {
    if (order === 'size') return one.size - other.size;
    if (order === 'modifiedAt') return (one.modifiedAt ?? '').localeCompare(other.modifiedAt ?? '');
    return collator.compare(one.name, other.name);
  };
  return [...entries].sort(
    (one, other) =>
      Number(other.kind === 'folder') - Number(one.kind === 'folder') ||
      (isBackwards ? compare(other, one) : compare(one, other)) ||
      collator.compare(one.name, other.name),
  );
}

/** Returns whether a name contains the text, regardless of case. */
const hasText = (name: string, text: string): boolean => name.toLowerCase().includes(text.trim().toLowerCase());

/** Sorts "part-10" after "part-9". */
const collator = new Intl.Collator(locale, { numeric: true });

interface ChangeProps {
  id: string;
  path: string;
  onClose(isDone: boolean): void;
}

function NewFolder({ id, path, onClose }: ChangeProps) {
  const name = useSignal('');
  const { isBusy, error, run } = useChange(() => onClose(true));
  const taken = useComputed(() => name.value === '' || name.value.includes('/'));
  return (
    <Dialog title={texts.newFolder} isNarrow onClose={() => onClose(false)}>
      <form
        class="dialog-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!taken.value) run(() => createFolder(id, joinPath(path, encodePath(name.value, false))));
        }}
      >
        <label class="field">
          <span>{texts.name}</span>
          <input
            value={name.value}
            maxLength={255}
            required
            autocomplete="off"
            pattern="[^\/]+"
            onInput={({ currentTarget }) => {
              name.value = currentTarget.value;
            }}
          />
        </label>
        <Failure error={error.value} />
        <div class="dialog-end">
          <button type="button" onClick={() => onClose(false)}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" disabled={isBusy.value}>
            {texts.create}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Remove({ id, path, entry, onClose }: ChangeProps & { entry: FileEntry }) {
  const { isBusy, error, run } = useChange(() => onClose(true));
  const isFolder = entry.kind === 'folder' && !entry.isLink;
  return (
    <Dialog title={isFolder ? texts.deleteFolder : texts.deleteFile} isNarrow onClose={() => onClose(false)}>
      <div class="dialog-body stack">
        <p class="mono">
          <bdi>{visible(entry.name)}</bdi>
        </p>
        <p>{isFolder ? texts.onlyEmpty : texts.noRestore}</p>
        <Failure error={error.value} />
        <div class="dialog-end">
          <button type="button" onClick={() => onClose(false)}>
            {texts.keep}
          </button>
          <button
            type="button"
            class="danger"
            disabled={isBusy.value}
            onClick={() => run(() => remove(id, isFolder ? 'folder' : 'file', joinPath(path, entry.encoded)))}
          >
            {texts.doDelete}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function useChange(onDone: () => void) {
  const { isBusy, error, run } = useWork();
  const change = async (work: () => Promise<void>) => {
    if (await run(work)) onDone();
  };
  return { isBusy, error, run: change };
}
