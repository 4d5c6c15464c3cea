import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { InstanceLinks, type OneInstance, WebLink } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';
import { accountChanges, type Instance } from '../state/account.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/connect.js';

type Read = NonNullable<ResultOf<typeof OneInstance>['instance']>;

interface Props {
  instance: Instance;
  ssh: Read['ssh'];
  ports: Read['ports'];
  tcpPorts: Read['tcpPorts'];
}

/** Shows the ways to connect to an instance: a shell, its web ports and its hostname. */
export function Connect({ instance: { id, hostname, status, runtime }, ssh, ports, tcpPorts }: Props) {
  return (
    <section class="panel padded stack" aria-labelledby="connect">
      <h2 id="connect">{texts.title}</h2>
      {status === 'DESTROYED' ? (
        <p class="quiet">{texts.destroyed}</p>
      ) : (
        <>
          {runtime === null && <p class="notice">{texts.noAgent}</p>}
          {runtime !== null && <Links id={id} isRunning={runtime.phase === 'RUNNING'} />}
          {ssh !== null && runtime !== null && (
            <div class="stack-tight">
              <p>{texts.shell(<a href="/keys">{texts.yourKeys}</a>)}</p>
              <code class="secret">{ssh.command}</code>
              <Copy text={ssh.command} label={texts.copyCommand} />
              <p class="small quiet">{texts.asRoot(<span class="mono">{ssh.rootCommand}</span>)}</p>
            </div>
          )}
          {ports.map(({ port, open, url }) => (
            <Port key={port} id={id} port={port} isOpen={open} url={url} />
          ))}
          {tcpPorts.map(({ port, host, publicPort }) => (
            <p key={port}>
              {texts.tcp(
                port,
                <span class="mono">
                  {host}:{publicPort}
                </span>,
              )}
            </p>
          ))}
          {(runtime === null || (ssh === null && ports.length === 0)) && (
            <div class="stack-tight">
              <code class="secret">{hostname}</code>
              <Copy text={hostname} label={texts.copyHost} />
            </div>
          )}
        </>
      )}
    </section>
  );
}

/**
 * Lists the instance's services by name, and its generated passwords. Each service opens with the token that its page
 * requires.
 */
function Links({ id, isRunning }: { id: string; isRunning: boolean }) {
  const { data, error } = useRead(InstanceLinks, { id }, accountChanges);
  const { open, error: refused } = useWebLink();
  const { links = [], tokens = [] } = data.value?.instanceLinks ?? {};
  return (
    <>
      {links.length > 0 && (
        <div class="row">
          {links.map(({ name, port, path }) => (
            <button
              key={port}
              type="button"
              class="primary"
              aria-disabled={!isRunning}
              onClick={() => isRunning && open({ id, port, path })}
            >
              {texts.open(visible(name))}
            </button>
          ))}
          {!isRunning && <span class="small quiet">{texts.soon}</span>}
        </div>
      )}
      {tokens
        .filter(({ inLink }) => !inLink)
        .map(({ variable, value }) => (
          <div class="row" key={variable}>
            <span>{texts.generated(variable, <span class="mono veiled">{value}</span>)}</span>
            <Copy text={value} label={texts.copyVariable(variable)} />
          </div>
        ))}
      <Failure error={error.value ?? refused} />
    </>
  );
}

/** Opens a private port in a new tab. */
function useWebLink() {
  const error = useSignal<unknown>(null);
  const open = async (what: { id: string; port: number; path?: string }) => {
    error.value = null;
    // The window is opened before the response arrives, because browsers would block a later one as unrequested.
    const tab = window.open('about:blank', '_blank');
    try {
      const { webLink } = await send(WebLink, what);
      if (webLink === null) return tab?.close();
      if (tab === null) location.assign(webLink.url);
      else {
        tab.opener = null;
        tab.location.replace(webLink.url);
      }
    } catch (fault) {
      tab?.close();
      error.value = fault;
    }
  };
  return { open, error: error.value };
}

function Port({ id, port, isOpen, url }: { id: string; port: number; isOpen: boolean; url: string }) {
  const { open, error } = useWebLink();
  return (
    <div class="stack-tight port">
      <p class="row between">
        <span>{(isOpen ? texts.portOpen : texts.portPrivate)(port, <span class="mono">{url}</span>)}</span>
        {isOpen ? (
          <a class="button" href={url} target="_blank" rel="noreferrer">
            {texts.openPort}
          </a>
        ) : (
          <button type="button" onClick={() => void open({ id, port })}>
            {texts.openTab}
          </button>
        )}
      </p>
      <Failure error={error} />
    </div>
  );
}
