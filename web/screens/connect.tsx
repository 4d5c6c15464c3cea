import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { type OneInstance, WebLink } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';
import type { Instance } from '../state/account.js';

type Read = NonNullable<ResultOf<typeof OneInstance>['instance']>;

interface Props {
  instance: Instance;
  ssh: Read['ssh'];
  ports: Read['ports'];
}

/** The ways into an instance: a shell, its web ports, and its name. */
export function Connect({ instance: { id, hostname, status, runtime }, ssh, ports }: Props) {
  return (
    <section class="panel padded stack" aria-labelledby="connect">
      <h2 id="connect">How to connect</h2>
      {status === 'DESTROYED' ? (
        <p class="quiet">It is destroyed; there is nothing to connect to.</p>
      ) : (
        <>
          {runtime === null && (
            <p class="notice">
              No host agent runs on this machine: the rental is a record, and no container answers here.
            </p>
          )}
          {ssh !== null && runtime !== null && (
            <div class="stack-tight">
              <p>
                A shell, with one of <a href="/keys">your SSH keys</a>:
              </p>
              <code class="secret">{ssh.command}</code>
              <Copy text={ssh.command} label="Copy the command" />
            </div>
          )}
          {ports.map(({ port, open, url }) => (
            <Port key={port} id={id} port={port} isOpen={open} url={url} />
          ))}
          {(runtime === null || (ssh === null && ports.length === 0)) && (
            <div class="stack-tight">
              <code class="secret">{hostname}</code>
              <Copy text={hostname} label="Copy the host name" />
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Port({ id, port, isOpen, url }: { id: string; port: number; isOpen: boolean; url: string }) {
  const error = useSignal<unknown>(null);
  const visit = async () => {
    error.value = null;
    // Opened before the answer: a browser takes a window that comes later for one that nobody asked for.
    const tab = window.open('about:blank', '_blank');
    try {
      const { webLink } = await send(WebLink, { id, port });
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
  return (
    <div class="stack-tight port">
      <p class="row between">
        <span>
          Port {port}, {isOpen ? 'open to everybody' : 'private'}: <span class="mono">{url}</span>
        </span>
        {isOpen ? (
          <a class="button" href={url} target="_blank" rel="noreferrer">
            Open
          </a>
        ) : (
          <button type="button" onClick={visit}>
            Open in a new tab
          </button>
        )}
      </p>
      <Failure error={error.value} />
    </div>
  );
}
