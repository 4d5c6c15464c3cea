import type { MachineAsRead } from '../domain/instances/machine-loader.js';
import { findGpuModel, findRegion } from '../domain/inventory/catalogue.js';
import { freeGpusOf } from '../domain/kernel/free-machine.js';
import { required } from '../std/required.js';
import { builder } from './builder.js';
import { GpuModelType, RegionType } from './catalogue.js';

const HostType = builder.objectRef<MachineAsRead>('Host').implement({
  description:
    'A computer of the operator. Its GPUs are rented as one machine, or as several machines of one, two, four or eight GPUs that share it. One renter at a time uses a GPU.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Host id, which is also the id of the machine that covers the whole host, if there is one.',
    }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs in the host.' }),
    freeGpus: t.int({ description: 'GPUs without a running instance.', resolve: freeGpusOf }),
  }),
});

// A machine has no relation to its instances, because it would show an account the instances of others.
builder.prismaObject('Machine', {
  description:
    'The rentable unit: GPUs of one host, with their share of its CPUs, memory and disk. It is rented only as a whole.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Machine id.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs in the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    cpu: t.exposeString('cpu', { description: 'CPU model.' }),
    vcpus: t.exposeInt('vcpus', { description: 'Virtual CPUs.' }),
    ramGb: t.exposeInt('ramGb', { description: 'Memory in GB.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Total disk size in GB.' }),
    netDownMbps: t.exposeInt('netDownMbps', { description: 'Download bandwidth in Mbit/s.' }),
    netUpMbps: t.exposeInt('netUpMbps', { description: 'Upload bandwidth in Mbit/s.' }),
    ports: t.exposeInt('ports', { description: 'Number of ports that can be opened to the internet.' }),
    pcie: t.exposeInt('pcie', { description: 'PCIe generation.' }),
    nvlink: t.exposeBoolean('nvlink', { description: 'Whether the GPUs are linked by NVLink.' }),
    cudaMax: t.exposeString('cudaMax', { description: 'Highest CUDA version its driver supports; empty for AMD.' }),
    reliability: t.exposeFloat('reliability', { description: 'Uptime of the machine as a fraction, 0 to 1.' }),
    demo: t.exposeBoolean('demo', {
      description:
        'Whether this is a generated machine of the demonstration inventory, or a trial machine with simulated GPUs. Only the latter runs containers.',
    }),
    host: t.field({
      type: HostType,
      description: 'The host of which the machine is all or a part.',
      resolve: async ({ hostId }, _args, { deps }) =>
        required(await deps.machineLoader.machine(hostId), 'host of a machine'),
    }),
    gpuModel: t.field({
      type: GpuModelType,
      description: 'The GPU model.',
      resolve: async ({ gpu }, _args, { deps }) => required(await findGpuModel(deps, gpu), 'GPU model of a machine'),
    }),
    regionInfo: t.field({
      type: RegionType,
      description: 'The region.',
      resolve: async ({ region }, _args, { deps }) => required(await findRegion(deps, region), 'region of a machine'),
    }),
  }),
});
