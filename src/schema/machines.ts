import type { MachineAsRead } from '../domain/instances/machine-loader.js';
import { findGpuModel, findRegion } from '../domain/inventory/catalogue.js';
import { freeGpusOf } from '../domain/rules/free-machine.js';
import { builder } from './builder.js';
import { GpuModelType, RegionType } from './catalogue.js';

const HostType = builder.objectRef<MachineAsRead>('Host').implement({
  description:
    'A computer of the operator. Its GPUs are rented as one machine, or as machines of one, two, four or eight GPUs that share it: each GPU by one renter at a time.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Host id; that of the machine which is the whole of it, where there is one.' }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs in the host.' }),
    freeGpus: t.int({ description: 'GPUs on which nothing runs.', resolve: freeGpusOf }),
  }),
});

// No relation leads from a machine to its instances: it would show one account the instances of others.
builder.prismaObject('Machine', {
  description:
    'What is rented: GPUs of one host, with their share of its processors, memory and disk. It is only rented as a whole.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Machine id.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs in the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    cpu: t.exposeString('cpu', { description: 'CPU model.' }),
    vcpus: t.exposeInt('vcpus', { description: 'Virtual CPUs.' }),
    ramGb: t.exposeInt('ramGb', { description: 'Memory in GB.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Size of the whole disk in GB, used or not.' }),
    netDownMbps: t.exposeInt('netDownMbps', { description: 'Bandwidth to the machine in Mbit/s.' }),
    netUpMbps: t.exposeInt('netUpMbps', { description: 'Bandwidth from the machine in Mbit/s.' }),
    ports: t.exposeInt('ports', { description: 'Number of ports that can be opened to the internet.' }),
    pcie: t.exposeInt('pcie', { description: 'PCIe generation.' }),
    nvlink: t.exposeBoolean('nvlink', { description: 'Whether the GPUs are linked by NVLink.' }),
    cudaMax: t.exposeString('cudaMax', { description: 'Highest CUDA version its driver runs; empty for AMD.' }),
    reliability: t.exposeFloat('reliability', { description: 'Share of time the machine was up, 0 to 1.' }),
    demo: t.exposeBoolean('demo', {
      description:
        'True for a made-up machine of the demonstration inventory and for a trial machine with simulated GPUs. Only the latter runs containers.',
    }),
    host: t.field({
      type: HostType,
      description: 'The computer that it is, or is a part of.',
      resolve: async ({ hostId }, _args, { deps }) => (await deps.machineLoader.machine(hostId))!,
    }),
    gpuModel: t.field({
      type: GpuModelType,
      description: 'The GPU model.',
      resolve: async ({ gpu }, _args, { deps }) => (await findGpuModel(deps, gpu))!,
    }),
    regionInfo: t.field({
      type: RegionType,
      description: 'The region.',
      resolve: async ({ region }, _args, { deps }) => (await findRegion(deps, region))!,
    }),
  }),
});
