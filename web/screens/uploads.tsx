import { percent } from '../figures/number.js';
import { fileSize } from '../figures/size.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { messageOf } from '../state/messages.js';
import { dropDone, dropUpload, sendAgain, type Upload, uploads } from '../state/uploads.js';
import { texts } from '../texts/en/uploads.js';

/** Shows the uploads to an instance and their outcome. */
export function Uploads({ id }: { id: string }) {
  const own = uploads.value.filter(({ instance }) => instance === id);
  if (own.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="uploads">
      <div class="panel-head">
        <h2 id="uploads">{texts.title}</h2>
        {own.some(({ state }) => state === 'done') && (
          <button type="button" class="plain" onClick={() => dropDone(id)}>
            {texts.clear}
          </button>
        )}
      </div>
      <ul class="uploads">
        {own.map((upload) => (
          <Row key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  );
}

function Row({ upload }: { upload: Upload }) {
  const { id, file, state, sent, error } = upload;
  const name = visible(file.name);
  return (
    <li>
      <div class="row between">
        <span class="upload-name">
          <bdi>{name}</bdi> <span class="quiet small figure">{fileSize(file.size)}</span>
        </span>
        <span class="row">
          <State upload={upload} />
          {state === 'taken' && (
            <button type="button" aria-label={texts.replaceThis(name)} onClick={() => sendAgain(id, true)}>
              {texts.replace}
            </button>
          )}
          {state === 'failed' && (
            <button type="button" aria-label={texts.againThis(name)} onClick={() => sendAgain(id, upload.replaces)}>
              {texts.again}
            </button>
          )}
          <button
            type="button"
            class="ghost"
            aria-label={state === 'waiting' || state === 'sending' ? texts.cancel(name) : texts.dismiss(name)}
            onClick={() => dropUpload(id)}
          >
            <Icon name="x" />
          </button>
        </span>
      </div>
      {state === 'sending' && (
        <progress aria-label={texts.progressOf(name)} value={sent} max={Math.max(file.size, 1)} />
      )}
      {state === 'failed' && (
        <p class="small bad" role="alert">
          {messageOf(error)}
        </p>
      )}
    </li>
  );
}

function State({ upload: { state, sent, file } }: { upload: Upload }) {
  switch (state) {
    case 'waiting':
      return <span class="small quiet">{texts.waiting}</span>;
    case 'sending':
      return (
        <span class="small quiet figure">
          {sent === file.size ? texts.writing : percent(Math.floor((sent / Math.max(file.size, 1)) * 100))}
        </span>
      );
    case 'taken':
      return <span class="small warn">{texts.taken}</span>;
    case 'done':
      return (
        <span class="small good" role="status">
          {texts.done}
        </span>
      );
    case 'failed':
      return <span class="small bad">{texts.failed}</span>;
  }
}
