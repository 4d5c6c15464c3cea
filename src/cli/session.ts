import type { Command } from 'commander';
import { createClient, type GpuClient, GpuRefusal, type RawAnswer } from '../client/index.js';
import { EXIT, Failure } from './failure.js';
import { readSettings, type Settings } from './settings.js';
import { printText, showProgress } from './terminal.js';

/** A response from the service, both parsed and as received. */
interface Answer<Body> {
  body: Body;
  text: string;
}

/** One command's connection to the service. */
export interface Session {
  settings: Settings;
  request<Body>(call: (client: GpuClient) => Promise<Body>, isQuiet?: boolean): Promise<Answer<Body>>;
}

export function settingsFor(command: Command): Settings {
  return readSettings(process.env, command.optsWithGlobals<{ baseUrl?: string }>().baseUrl);
}

/** Opens a session. If there is no key and `needsKey` is true, fails without sending anything. */
export function openSession(command: Command, { needsKey }: { needsKey: boolean }): Session {
  const settings = settingsFor(command);
  const { apiKey, baseUrl, loggedInElsewhere } = settings;
  if (needsKey && apiKey === null) {
    const login = loggedInElsewhere === null ? '' : `; the login is for ${loggedInElsewhere}`;
    throw new Failure(EXIT.usage, `no API key for ${baseUrl.value}${login}. Run \`gpu login\`, or set GPU_API_KEY`);
  }
  const { json = false } = command.opts<{ json?: boolean }>();
  return connect(settings, needsKey ? apiKey?.value : undefined, json);
}

export function connect(settings: Settings, apiKey: string | undefined, json = false): Session {
  let last: RawAnswer | null = null;
  let showRetry: (text: string) => void = () => {};
  const client = clientFor({
    ...(apiKey !== undefined && { apiKey }),
    baseUrl: settings.baseUrl.value,
    onAnswer: (answer) => {
      last = answer;
    },
    onRetry: ({ attempt, maxAttempts, delayMs, error }) => {
      const seconds = Math.max(1, Math.round(delayMs / 1_000));
      const text = `${error.code.replaceAll('_', ' ')}; trying again in ${seconds} s (${attempt + 1} of ${maxAttempts})`;
      if (process.stderr.isTTY) showRetry(text);
      // The service may request a pause of up to a minute, so the user needs an explanation.
      else if (error.retryAfter !== null) process.stderr.write(`gpu: ${text}\n`);
    },
  });
  return {
    settings,
    request: async (call, isQuiet = false) => {
      const progress = isQuiet ? null : showProgress('Waiting for the service');
      showRetry = (text) => progress?.show(text);
      try {
        const body = await call(client);
        progress?.end();
        return { body, text: last!.text };
      } catch (error) {
        progress?.end();
        if (json && error instanceof GpuRefusal) printText(last!.text);
        throw error;
      }
    },
  };
}

function clientFor(options: Parameters<typeof createClient>[0]): GpuClient {
  try {
    return createClient(options);
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}
