import type { CallOptions, Send } from './send.js';
import type { DeployRequest } from './types.js';

/** A template in the catalogue, whose slug can be passed to `deploy`. */
export interface Template {
  slug: string;
  title: string;
  category: string;
  description: string;
  /** OCI image. */
  image: string;
  /** Minimum total memory of all GPUs, in GB, or null if it doesn't matter. */
  vramGb: number | null;
  /** Ports. The first one is the web port. */
  ports: { port: number; name: string | null }[];
  variables: TemplateVariable[];
}

export interface TemplateVariable {
  name: string;
  description: string;
  /** Value that is used if a launch provides none. */
  default: string | null;
  required: boolean;
  /** Whether the value should be one of the account's secrets. */
  secret: boolean;
  /**
   * Whether the service generates a value if the launch doesn't provide one. `instances.links` returns the generated
   * value.
   */
  isGenerated: boolean;
  /** @deprecated Renamed to isGenerated. */
  made: boolean;
}

/** The workload as returned by GraphQL, excluding the template and the disk. */
export interface Launch {
  name: string | null;
  env: Record<string, string>;
  secrets: { secret: string; variable: string | null; file: string | null }[];
  entrypoint: string[] | null;
  command: string[] | null;
  ports: { port: number; name: string | null }[];
  tcpPorts: number[];
  registryLogin: string | null;
  user: string | null;
  restart: 'ALWAYS' | 'ON_FAILURE' | 'NEVER';
  onExit: 'KEEP' | 'STOP' | 'DESTROY';
}

/** A launch saved by the account under a name. */
export interface SavedTemplate {
  name: string;
  description: string;
  /** Template slug or OCI image. */
  template: string;
  diskGb: number;
  launch: Launch;
  /**
   * Opens the console's deploy dialog prefilled with this launch, for anyone who has the link. It contains no secrets.
   */
  link: string;
  createdAt: string;
}

/** Fields of a deploy request, except for the machine and the fields that apply only to a single rental. */
export type LaunchRequest = Pick<
  DeployRequest,
  | 'template'
  | 'disk_gb'
  | 'name'
  | 'env'
  | 'secrets'
  | 'entrypoint'
  | 'command'
  | 'ports'
  | 'tcp_ports'
  | 'registry_login'
  | 'user'
  | 'restart'
  | 'on_exit'
>;

/** Everything needed to open the services that run in an instance. */
export interface InstanceLinks {
  /** The instance's named ports. A private port needs the cookie of a web link with this path. */
  links: { name: string; port: number; path: string; url: string; open: boolean }[];
  /** The tokens and passwords generated for the instance. */
  tokens: { variable: string; value: string; inLink: boolean }[];
}

const GALLERY = `{ templates { slug title category description image vramGb ports { port name }
  variables { name description default required secret isGenerated made: isGenerated } } }`;
const LAUNCH = `launch { name env secrets { secret variable file } entrypoint command ports { port name } tcpPorts
  registryLogin user restart onExit }`;
const SAVED = `name description template diskGb ${LAUNCH} link createdAt`;
const SAVE = `mutation ($input: SavedTemplateInput!) { saveTemplate(input: $input) { ${SAVED} } }`;
const DELETE = 'mutation ($name: String!) { deleteTemplate(name: $name) { name } }';
const LINKS = `query ($id: ID!) { instanceLinks(id: $id) {
  links { name port path url open } tokens { variable value inLink } } }`;

/** Returns the fields of a deploy request that repeats a saved launch, or an instance's launch. */
export function requestOf({
  template,
  diskGb,
  launch,
}: Pick<SavedTemplate, 'template' | 'diskGb'> & { launch: Launch | null }): LaunchRequest {
  return { template, disk_gb: diskGb, ...(launch !== null && requestOfLaunch(launch)) };
}

function requestOfLaunch(launch: Launch): LaunchRequest {
  const { name, env, secrets, entrypoint, command, ports, tcpPorts, registryLogin, user, restart, onExit } = launch;
  return {
    ...(name !== null && { name }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...(entrypoint !== null && { entrypoint }),
    ...(command !== null && { command }),
    ...(ports.length > 0 && { ports }),
    ...(tcpPorts.length > 0 && { tcp_ports: tcpPorts }),
    ...(registryLogin !== null && { registry_login: registryLogin }),
    ...(user !== null && { user }),
    ...(restart !== 'ALWAYS' && { restart: restart === 'NEVER' ? 'never' : 'on_failure' }),
    ...(onExit !== 'KEEP' && { on_exit: onExit === 'STOP' ? 'stop' : 'destroy' }),
  };
}

/** Returns the GraphQL input for a saved template. */
export function savedInputOf(name: string, description: string | undefined, request: LaunchRequest): object {
  const { template, disk_gb, tcp_ports, registry_login, restart, on_exit, ...rest } = request;
  const launch = {
    ...rest,
    tcpPorts: tcp_ports,
    registryLogin: registry_login,
    restart: restart?.toUpperCase(),
    onExit: on_exit?.toUpperCase(),
  };
  return { name, description, template, diskGb: disk_gb, launch };
}

/** Returns the client's template methods, each of which is a GraphQL operation. */
export function templatesOf(send: Send) {
  const query = async <Data>(document: string, variables: object, options: CallOptions): Promise<Data> => {
    const call = { method: 'POST', path: '/graphql', isGraphql: true, refuses: true, options } as const;
    return (await send<{ data: Data }>({ ...call, body: { query: document, variables } })).data;
  };
  return {
    list: async (options: CallOptions) => (await query<{ templates: Template[] }>(GALLERY, {}, options)).templates,
    saved: async (options: CallOptions) =>
      (await query<{ myTemplates: SavedTemplate[] }>(`{ myTemplates { ${SAVED} } }`, {}, options)).myTemplates,
    save: async (input: object, options: CallOptions) =>
      (await query<{ saveTemplate: SavedTemplate }>(SAVE, { input }, options)).saveTemplate,
    delete: async (name: string, options: CallOptions) => {
      await query(DELETE, { name }, options);
    },
    links: async (id: string, options: CallOptions) =>
      (await query<{ instanceLinks: InstanceLinks }>(LINKS, { id }, options)).instanceLinks,
  };
}
