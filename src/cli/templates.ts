import type { Command } from 'commander';
import { type DeployRequest, type Launch, requestOf } from '../client/index.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { idOf } from './instances.js';
import { type LaunchOptions, launchOf, withLaunch } from './launch.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import type { Output } from './show.js';
import { table, text } from './table.js';
import { done, printLines, printText, remark } from './terminal.js';

/** A saved launch that can be deployed. It comes from a saved template or an instance. */
interface Saved {
  template: string;
  diskGb: number;
  launch: Launch | null;
}

interface Listed {
  templates: { slug: string; title: string; category: string; vramGb: number | null; description: string }[];
  myTemplates?: { name: string; description: string; template: string }[];
}

const LAUNCH = `launch { name env entrypoint command tcpPorts registryLogin user restart onExit
  secrets { secret variable file } ports { port name } }`;
const GALLERY = 'templates { slug title category vramGb description }';
const SAVED = `name description template diskGb createdAt ${LAUNCH}`;

const COLUMNS = [
  text<Row>('TEMPLATE', ({ name }) => name, { style: () => 'cyan' }),
  text<Row>('CATEGORY', ({ category }) => category, { spare: 2 }),
  text<Row>('VRAM', ({ vram }) => vram, { right: true, spare: 1 }),
  text<Row>('DESCRIPTION', ({ description }) => description),
];

interface Row {
  name: string;
  category: string;
  vram: string;
  description: string;
}

interface SaveOptions extends LaunchOptions {
  template?: string;
  diskGb?: number;
  description?: string;
  from?: string;
}

export function addTemplateCommands(program: Command): void {
  const template = program.command('template').description('List templates and manage your saved launches');
  template.command('list').description('List templates, yours first').option('--json', 'Print JSON').action(list);
  withLaunch(
    template
      .command('save')
      .argument('<name>', 'Name of the saved launch; an existing one is replaced')
      .argument('[command...]', 'Container command and its arguments, after --')
      .description('Save a launch under a name')
      .option('--template <template>', 'Template slug or OCI image (default: pytorch)')
      .option('--disk-gb <gb>', 'Disk size in GB (default: 50)', amount)
      .option('--description <text>', 'Description shown in the list of templates')
      .option('--from <instance>', "Copy this instance's launch; other options override it"),
  ).action(save);
  template
    .command('delete <name>')
    .description('Delete a saved launch; instances deployed from it continue')
    .action(async (name: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, 'mutation ($name: String!) { deleteTemplate(name: $name) { name } }', { name });
      printLines([done(`${name} has been deleted`)]);
    });
  template
    .command('link <name>')
    .description('Print a link that opens a saved launch in the console; it contains no secrets')
    .action(async (name: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { link } = await savedUnder<{ link: string }>(settings, name, 'link');
      printLines([visible(link)]);
    });
}

/** Returns the fields of the deploy request saved under this name. */
export async function requestOfSaved(settings: Settings, name: string): Promise<Partial<DeployRequest>> {
  return requestOf(await savedUnder<Saved>(settings, name, SAVED));
}

async function list({ json }: Output, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: false });
  const own = settings.apiKey === null ? '' : `myTemplates { ${SAVED} }`;
  const answer = await queryGraphql<Listed>(settings, `{ ${own} ${GALLERY} }`);
  if (json) return printText(JSON.stringify(answer));
  const rows = [
    ...(answer.myTemplates ?? []).map((saved) => ({
      name: saved.name,
      category: 'Yours',
      vram: '-',
      description: saved.description || saved.template,
    })),
    ...answer.templates.map(({ slug, category, vramGb, description }) => ({
      name: slug,
      category,
      vram: vramGb === null ? '-' : `${vramGb} GB`,
      description,
    })),
  ];
  printLines(table(rows, COLUMNS));
  if (answer.myTemplates?.length) remark('`gpu deploy MACHINE --saved NAME` deploys one of yours.');
}

async function save(name: string, words: string[], options: SaveOptions, command: Command): Promise<void> {
  const session = openSession(command, { needsKey: true });
  const from =
    options.from === undefined ? null : await deployedAs(session.settings, await idOf(session, options.from));
  const { template, diskGb: disk_gb, description } = options;
  const launch = {
    ...(from !== null && requestOf(from)),
    ...(template !== undefined && { template }),
    ...(disk_gb !== undefined && { disk_gb }),
    ...launchOf(options, words),
  };
  await session.request((client) =>
    client.templates.save(name, launch, { ...(description !== undefined && { description }) }),
  );
  printLines([done(`${name} has been saved`)]);
}

async function savedUnder<Found>(settings: Settings, name: string, selection: string): Promise<Found> {
  const query = `{ myTemplates { name ${selection} } }`;
  const { myTemplates } = await queryGraphql<{ myTemplates: (Found & { name: string })[] }>(settings, query);
  const found = myTemplates.find((saved) => saved.name === name);
  if (found === undefined)
    throw new Failure(EXIT.refused, `no saved launch ${visible(name)}; \`gpu template list\` lists yours`);
  return found;
}

async function deployedAs(settings: Settings, id: string): Promise<Saved> {
  const query = `query ($id: ID!) { instance(id: $id) { template diskGb ${LAUNCH} } }`;
  const { instance } = await queryGraphql<{ instance: Saved | null }>(settings, query, { id });
  if (instance === null) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
  return instance;
}
