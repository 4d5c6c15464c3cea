import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { InstanceLinks } from '../graph/documents.js';
import { Copy } from '../parts/copy.js';
import { Fold } from '../parts/fold.js';
import { Icon } from '../parts/icon.js';
import { Failure } from '../parts/notice.js';
import { accountChanges, type Instance } from '../state/account.js';
import { type Read as ReadOf, useRead } from '../state/read.js';
import { texts } from '../texts/en/connect.js';
import { texts as words } from '../texts/en/instance.js';
import type { Read } from './instance-read.js';
import { openPort, type WebPort } from './web-link.js';

export type Links = ReadOf<ResultOf<typeof InstanceLinks>>;

/** Reads a running instance's services by name, and its generated passwords. */
export const useLinks = (id: string, isRunning: boolean): Links =>
  useRead(InstanceLinks, isRunning ? { id } : null, accountChanges);

interface ConnectProps {
  instance: Instance;
  links: Links;
  /** Null until it has been read. */
  read: Read | null;
}

/** Number of characters at the end of an address that are never cut off, such as its domain and port. */
const ADDRESS_END = 12;

/** Maximum number of ports that have a button without having a name. */
const MAX_PORTS = 3;

/** Shows how to continue: the instance's services, a terminal, the SSH command and its web address. */
export function Connect({ instance: { id }, links: { data, error }, read }: ConnectProps) {
  const { open, error: refused } = useWebLink();
  const links = data.value?.instanceLinks?.links ?? [];
  const ports = read?.ports ?? [];
  const isKnown = data.value !== null || error.value !== null;
  const unnamed = ports.filter(({ port }) => !links.some((link) => link.port === port)).slice(0, MAX_PORTS);
  const hasService = links.length + unnamed.length > 0;
  return (
    <div class="connect">
      <div class="row next-buttons">
        {links.map(({ name, port, path }, place) => (
          <button
            key={port}
            type="button"
            class={`large ${place === 0 ? 'primary' : ''}`}
            aria-label={texts.open(visible(name))}
            onClick={() => open({ id, port, path })}
          >
            <Icon name="external-link" />
            {/* The icon says that the others can be opened, too. */}
            {place === 0 ? texts.open(visible(name)) : visible(name)}
          </button>
        ))}
        {!isKnown &&
          // Keeps the buttons' place, which is several lines on a phone.
          Array.from({ length: unnamed.length + 1 }, (_, place) => (
            <span key={place} class={place === 0 ? 'large primary' : 'large'} />
          ))}
        {isKnown &&
          unnamed.map(({ port, open: isOpen, url }, place) => (
            <button
              key={port}
              type="button"
              class={`large ${place === 0 && links.length === 0 ? 'primary' : ''}`}
              onClick={() => (isOpen ? window.open(url, '_blank', 'noreferrer') : open({ id, port }))}
            >
              <Icon name="external-link" />
              {texts.openNumber(port)}
            </button>
          ))}
        {isKnown && (
          <a class={`button large ${hasService ? '' : 'primary'}`} href={`/instances/${id}?tab=terminal`}>
            <Icon name="square-terminal" />
            {texts.terminal}
          </a>
        )}
      </div>
      {read !== null && (read.ssh !== null || ports[0] !== undefined) && (
        <dl class="ways">
          {read.ssh !== null && (
            <div>
              <dt>{words.ssh}</dt>
              <dd>
                <code class="command mono" title={read.ssh.command}>
                  {read.ssh.command}
                </code>
                <Copy text={read.ssh.command} label={texts.copyCommand} isIcon />
              </dd>
            </div>
          )}
          {ports[0] !== undefined && (
            <div>
              <dt>{words.web}</dt>
              <dd>
                <code class="address mono" title={ports[0].url}>
                  <span>{ports[0].url.slice(0, -ADDRESS_END)}</span>
                  {ports[0].url.slice(-ADDRESS_END)}
                </code>
                <Copy text={ports[0].url} label={texts.copyAddress} isIcon />
              </dd>
            </div>
          )}
        </dl>
      )}
      <Failure error={error.value ?? refused} />
    </div>
  );
}

interface AccessProps {
  id: string;
  links: Links;
  read: Read;
}

/** The folded section with the instance's passwords, ports and root shell. */
export function Access({ id, links: { data }, read: { ssh, ports, tcpPorts } }: AccessProps) {
  const passwords = (data.value?.instanceLinks?.tokens ?? []).filter(({ inLink }) => !inLink);
  return (
    <Fold title={texts.access} summary={texts.accessOf(passwords.length, ports.length + tcpPorts.length)}>
      <div class="access">
        {passwords.map(({ variable, value }) => (
          <div class="access-line" key={variable}>
            <span>{texts.generated(variable, <span class="mono veiled">{value}</span>)}</span>
            <Copy text={value} label={texts.copyVariable(variable)} />
          </div>
        ))}
        {ports.map(({ port, open, url }) => (
          <Port key={port} id={id} port={port} isOpen={open} url={url} />
        ))}
        {tcpPorts.map(({ port, host, publicPort }) => (
          <p class="access-line" key={port}>
            <span>
              {texts.tcp(
                port,
                <span class="mono">
                  {host}:{publicPort}
                </span>,
              )}
            </span>
          </p>
        ))}
        {ssh !== null && (
          <>
            <p class="access-line">
              <span>{texts.asRoot(<span class="mono">{ssh.rootCommand}</span>)}</span>
              <Copy text={ssh.rootCommand} label={texts.copyRootCommand} />
            </p>
            <p class="small quiet">{texts.shell(<a href="/keys">{texts.yourKeys}</a>)}</p>
          </>
        )}
      </div>
    </Fold>
  );
}

/** Opens a private port in a new tab. */
function useWebLink() {
  const error = useSignal<unknown>(null);
  const open = async (port: WebPort) => {
    error.value = null;
    try {
      await openPort(() => port);
    } catch (fault) {
      error.value = fault;
    }
  };
  return { open, error: error.value };
}

function Port({ id, port, isOpen, url }: { id: string; port: number; isOpen: boolean; url: string }) {
  const { open, error } = useWebLink();
  return (
    <div class="port">
      <p class="access-line">
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
