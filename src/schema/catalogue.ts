import { findGpuModel, gpuModels, gpuModelsNamed, regions, templates } from '../domain/inventory/catalogue.js';
import { memoryBandwidth } from '../domain/inventory/memory-bandwidth.js';
import { MAX_TEMPLATE_PORTS, MAX_TEMPLATE_VARIABLES, type TemplateVariable } from '../domain/kernel/template.js';
import { atMost, builder, renamedTo } from './builder.js';
import { Node } from './node.js';

export const GpuTier = builder.enumType('GpuTier', {
  description: 'Class of a GPU model.',
  values: {
    FLAGSHIP: { description: 'Current GPUs for training.' },
    DATACENTER: { description: 'Other server boards and all workstation boards.' },
    CONSUMER_FLAGSHIP: { description: 'The top consumer card of its generation.' },
    CONSUMER: { description: 'Other consumer cards.' },
  },
});

export const GpuModelType = builder.prismaObject('GpuModel', {
  interfaces: [Node],
  description: 'A GPU model in the catalogue.',
  fields: (t) => ({
    id: t.id({ description: 'Node id: `gpu:` and the slug.', resolve: ({ slug }) => `gpu:${slug}` }),
    slug: t.exposeID('slug', { description: 'Stable identifier, used everywhere in the API.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    vramGb: t.exposeInt('vramGb', { description: 'Video memory of one GPU in GB.' }),
    tier: t.expose('tier', { type: GpuTier, description: 'Class of the model.' }),
    nvlink: t.exposeBoolean('nvlink', { description: 'Whether the board can be linked by NVLink.' }),
    pcieGen: t.exposeInt('pcieGen', { description: 'PCIe generation of the board.' }),
    memoryBandwidth: t.int({
      nullable: true,
      description:
        'Memory bandwidth of one GPU in GB/s, as published by its manufacturer. It is not measured on any machine; null if the catalogue has none.',
      resolve: ({ slug }) => memoryBandwidth(slug),
    }),
  }),
});

export const RegionType = builder.prismaObject('Region', {
  interfaces: [Node],
  description: 'A datacenter region.',
  fields: (t) => ({
    id: t.id({ description: 'Node id: `region:` and the code.', resolve: ({ code }) => `region:${code}` }),
    code: t.exposeID('code', { description: 'Region code, used everywhere in the API.' }),
    name: t.exposeString('name', { description: 'City, with state or province where customary.' }),
    country: t.exposeString('country', { description: 'ISO 3166-1 alpha-2 country code.' }),
    latitude: t.exposeFloat('latitude', { description: 'Latitude of the city centre in degrees, north positive.' }),
    longitude: t.exposeFloat('longitude', { description: 'Longitude of the city centre in degrees, east positive.' }),
  }),
});

/** A container port named by a template. */
const TemplatePortType = builder.objectRef<{ port: number; name: string | null }>('TemplatePort').implement({
  description: 'A port that a program of a template listens on.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'Port in the container.' }),
    name: t.exposeString('name', { nullable: true, description: 'Display name, such as JupyterLab.' }),
  }),
});

const isGenerated = ({ made }: TemplateVariable): boolean => made ?? false;

const TemplateVariableType = builder
  .objectRef<TemplateVariable & { default: string | null }>('TemplateVariable')
  .implement({
    description: 'A variable that the image of a template reads, shown as a form field.',
    fields: (t) => ({
      name: t.exposeString('name', { description: 'Name of the variable.' }),
      description: t.exposeString('description', { description: 'Purpose of the variable.' }),
      default: t.exposeString('default', { nullable: true, description: 'Value if the launch gives none.' }),
      required: t.boolean({
        description: 'Whether a deploy without a value is refused.',
        resolve: ({ required }) => required ?? false,
      }),
      secret: t.boolean({
        description: 'Whether the value should be passed as a secret of the account.',
        resolve: ({ secret }) => secret ?? false,
      }),
      isGenerated: t.boolean({
        description: 'Whether the service generates a value if the launch gives none. instanceLinks shows it.',
        resolve: isGenerated,
      }),
      made: t.boolean({ ...renamedTo('isGenerated'), resolve: isGenerated }),
    }),
  });

const TemplateType = builder.prismaObject('Template', {
  interfaces: [Node],
  description: 'A container template with which an instance can be deployed.',
  fields: (t) => ({
    title: t.string({
      description: 'Display name; by default the slug.',
      resolve: ({ slug, title }) => title || slug,
    }),
    category: t.string({
      description: 'Heading under which the template is listed.',
      resolve: ({ category }) => category || 'Other',
    }),
    picture: t.exposeString('picture', {
      description: 'Name of the picture that the console shows, such as notebook.',
    }),
    vramGb: t.exposeInt('vramGb', {
      nullable: true,
      description: 'Recommended video memory of all GPUs together, in GB; null for any.',
    }),
    ports: t.field({
      type: [TemplatePortType],
      ...atMost(MAX_TEMPLATE_PORTS),
      description: 'Its ports; the first is the web port.',
      resolve: ({ ports, portNames }) =>
        ports.map((port) => ({ port, name: (portNames as Record<string, string>)[port] ?? null })),
    }),
    path: t.exposeString('path', {
      description: 'Path to open at the web port. `$(NAME)` is replaced by the value of a variable.',
    }),
    variables: t.field({
      type: [TemplateVariableType],
      ...atMost(MAX_TEMPLATE_VARIABLES),
      description: "Variables for the template's form, in order.",
      resolve: ({ env, variables }) =>
        (variables as unknown as TemplateVariable[]).map((variable) => ({
          ...variable,
          default: (env as Record<string, string>)[variable.name] ?? null,
        })),
    }),
    id: t.id({ description: 'Node id: `template:` and the slug.', resolve: ({ slug }) => `template:${slug}` }),
    slug: t.exposeID('slug', { description: 'Slug, the value of the template input of a deploy.' }),
    image: t.exposeString('image', { description: 'OCI image reference to which the slug resolves.' }),
    description: t.exposeString('description', { description: 'Purpose of the image.' }),
  }),
});

builder.queryFields((t) => ({
  gpuModels: t.field({
    type: [GpuModelType],
    description: 'All GPU models, or those matching a name, in catalogue order. Public.',
    args: {
      named: t.arg.string({
        description: 'A slug, a name such as RTX 4090, or a name shared by several models, such as H100.',
      }),
    },
    resolve: (_root, { named }, { deps }) =>
      named == null ? gpuModels(deps) : gpuModelsNamed(deps, named.slice(0, 64)),
  }),
  gpuModel: t.field({
    type: GpuModelType,
    nullable: true,
    description: 'One GPU model; null for an unknown slug. Public.',
    args: { slug: t.arg.id({ required: true, description: 'Slug of the model.' }) },
    resolve: (_root, { slug }, { deps }) => findGpuModel(deps, slug),
  }),
  regions: t.field({
    type: [RegionType],
    description: 'All regions. Public.',
    resolve: (_root, _args, { deps }) => regions(deps),
  }),
  templates: t.field({
    type: [TemplateType],
    description: 'The container templates. You can also deploy an OCI image reference. Public.',
    resolve: (_root, _args, { deps }) => templates(deps),
  }),
}));
