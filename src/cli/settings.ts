import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { DEFAULT_BASE_URL, readBaseUrl } from '../client/send.js';
import { EXIT, Failure } from './failure.js';

/** A setting's value and its source. */
interface Setting {
  value: string;
  from: string;
}

export interface Settings {
  baseUrl: Setting;
  apiKey: Setting | null;
  /** Path of the file for the stored login. The file may not exist. */
  file: string;
  /** Service URL of the stored login if it differs from the current one, otherwise null. */
  loggedInElsewhere: string | null;
}

interface Login {
  base_url: string;
  api_key: string;
}

const SHOWN_OF_KEY = 4;
const PREFIX_OF_KEY = /^[a-z]+_[a-z]+_/;

/** Reads the settings. Options override the environment, which overrides the stored login. */
export function readSettings(env: NodeJS.ProcessEnv, baseUrlOption: string | undefined): Settings {
  const file = loginFile(env);
  const login = readLogin(file);
  const baseUrl = usable(
    firstOf(
      { value: baseUrlOption, from: '--base-url' },
      { value: env.GPU_BASE_URL, from: 'GPU_BASE_URL' },
      { value: login?.base_url, from: file },
    ) ?? { value: DEFAULT_BASE_URL, from: 'default' },
  );
  // A key is only sent to the service that it was verified for.
  const elsewhere = login !== null && login.base_url !== baseUrl.value;
  const apiKey = firstOf(
    { value: env.GPU_API_KEY, from: 'GPU_API_KEY' },
    { value: elsewhere ? undefined : login?.api_key, from: file },
  );
  return { baseUrl, apiKey, file, loggedInElsewhere: elsewhere ? login.base_url : null };
}

/** Stores the login in a file that only its owner can read, replacing any earlier login. */
export function writeLogin(file: string, baseUrl: string, apiKey: string): void {
  const login: Login = { base_url: baseUrl, api_key: apiKey };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

/** Removes the stored login, and returns whether there was one. */
export function removeLogin(file: string): boolean {
  const present = existsSync(file);
  rmSync(file, { force: true });
  return present;
}

export function masked(apiKey: string): string {
  return `${PREFIX_OF_KEY.exec(apiKey)?.[0] ?? ''}…${apiKey.slice(-SHOWN_OF_KEY)}`;
}

export function loginFile({ XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string {
  const folder = XDG_CONFIG_HOME === undefined || XDG_CONFIG_HOME === '' ? join(homedir(), '.config') : XDG_CONFIG_HOME;
  return join(folder, 'gpu', 'config.json');
}

function readLogin(file: string): Login | null {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new Failure(EXIT.usage, `can't read the saved API key: ${message}`);
  }
  try {
    const { base_url, api_key } = JSON.parse(content) as Partial<Login>;
    if (typeof base_url === 'string' && typeof api_key === 'string') return { base_url, api_key };
  } catch {
    // Content that isn't JSON is reported like any other invalid file.
  }
  throw new Failure(EXIT.usage, `${file} was not written by \`gpu login\`; remove it and log in again`);
}

/** Returns the first setting that has a value. An empty variable counts as unset. */
function firstOf(...settings: { value: string | undefined; from: string }[]): Setting | null {
  for (const { value, from } of settings) if (value !== undefined && value !== '') return { value, from };
  return null;
}

/** Normalizes a URL as the client does, with its path prefix but without a trailing slash. */
function usable({ value, from }: Setting): Setting {
  try {
    return { value: readBaseUrl(value), from };
  } catch {
    throw new Failure(EXIT.usage, `${from} must be a URL such as https://gpu.example.com/v1; got ${value}`);
  }
}
