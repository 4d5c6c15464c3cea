import type { Launch } from './launch.js';
import type { TemplateVariable } from './template.js';

/** What a link can hold: the bounds of its reader, which leaves out the rest. */
const MAX_ROWS = 30;
const MAX_VALUE = 1_000;
const PORT_NAME = /^[\w .-]{1,40}$/;
const ONE_LINE = /^[^\p{Cc}\p{Cf}]*$/u;

/** What is shared. */
interface Shared {
  /** Slug of a template, or an image. */
  template: string;
  diskGb: number;
  launch: Launch;
}

/** What is known of its template; nothing of an image. */
interface Known {
  vramGb: number | null;
  variables: readonly TemplateVariable[];
}

/**
 * A link that opens a filled form for whoever follows it. It has no secret: not the name of one, nor the value of a
 * variable that the template calls secret, only that one is wanted. What a link can't hold is left out.
 */
export function launchLink(publicUrl: string, { template, diskGb, launch }: Shared, known: Known | null): string {
  const { name, env = {}, secrets = [], command = [], ports = [] } = launch;
  const isSecret = (variable: string) =>
    known?.variables.some((each) => each.secret && each.name === variable) ?? false;
  const plain = Object.entries(env).filter(([variable, value]) => !isSecret(variable) && isShort(value));
  const wanted = [...Object.keys(env).filter(isSecret), ...secrets.flatMap(({ variable }) => variable ?? [])];
  const words = command.length <= MAX_ROWS && command.every(isShort) ? command : [];
  const query = new URLSearchParams([
    [known === null ? 'image' : 'template', template],
    ...(known?.vramGb == null ? [] : [['vram', String(known.vramGb)]]),
    ['deploy-disk', String(diskGb)],
    ...(name === undefined ? [] : [['name', name]]),
    ...plain.slice(0, MAX_ROWS).map(([variable, value]) => [`env.${variable}`, value]),
    ...wanted.slice(0, MAX_ROWS).map((variable) => ['secret', variable]),
    ...words.map((word) => ['command', word]),
    ...ports.map(({ port, name: called }) => [
      'port',
      called && PORT_NAME.test(called) ? `${port}:${called}` : `${port}`,
    ]),
  ]);
  return `${publicUrl}/launch?${query}`;
}

const isShort = (value: string): boolean => value !== '' && value.length <= MAX_VALUE && ONE_LINE.test(value);
