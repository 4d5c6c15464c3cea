import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  isSecure: boolean;
  user: string | undefined;
  raw: string;
  /** Unfolded headers by lowercase name. */
  headers: Record<string, string>;
  text: string;
  html: string;
  /** Types of the attached files. */
  attached: string[];
}

/** Starts a real mail server. `options` are those of smtp-server. If `answer` throws an error, the mail is refused. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  answer: (mail: ReceivedMail) => unknown = () => {},
) {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username }, _session, done) => done(null, { user: username! }),
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part) => parts.push(part));
      stream.on('end', async () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail: ReceivedMail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: session.user,
          ...read(Buffer.concat(parts).toString('utf8')),
        };
        try {
          await answer(mail);
          received.push(mail);
          done();
        } catch (error) {
          done(error as Error);
        }
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    received,
    port,
    url: `smtp://127.0.0.1:${port}`,
    subjects: () => received.map(({ headers }) => headers.subject),
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** Returns an error that makes the server respond with its code. */
export function refusal(responseCode: number, message = 'no'): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** Returns the link to /mail/… in a mail's text. */
export function linkIn({ text }: ReceivedMail): string {
  return /https?:\S+\/mail\/\S+/.exec(text)![0];
}

/** Reads a mail, whose parts are all quoted-printable except attached files. */
function read(raw: string): Omit<ReceivedMail, 'from' | 'to' | 'isSecure' | 'user'> {
  const parts = partsOf(raw);
  const bodyOf = (type: string) => parts.find(({ headers }) => typeOf(headers).startsWith(type))?.body ?? '';
  const attached = parts
    .filter(({ headers }) => 'content-disposition' in headers)
    .map(({ headers }) => typeOf(headers));
  return { raw, headers: parts[0]!.headers, text: bodyOf('text/plain'), html: bodyOf('text/html'), attached };
}

interface Part {
  headers: Record<string, string>;
  body: string;
}

const typeOf = (headers: Record<string, string>) => (headers['content-type'] ?? '').split(';')[0]!;

/** Returns the mail or part itself, followed by the parts that it consists of. */
function partsOf(raw: string): Part[] {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const content = rest.join('\r\n\r\n');
  const boundary = /^multipart\/.*boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1];
  const inner = boundary === undefined ? [] : content.split(`--${boundary}`).slice(1, -1);
  return [{ headers, body: decoded(content) }, ...inner.flatMap((part) => partsOf(part.replace(/^\r\n|\r\n$/g, '')))];
}

function decoded(content: string): string {
  const bytes = content
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}
