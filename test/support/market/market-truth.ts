import type pg from 'pg';

/** An offer as REST shows it, plus data that REST doesn't show. */
interface TrueOffer {
  shown: {
    machine_id: string;
    gpu: string;
    num_gpus: number;
    region: string;
    cpu: string;
    vcpus: number;
    ram_gb: number;
    disk_gb: number;
    net_mbps: { down: number; up: number };
    ports: number;
    pcie: number;
    nvlink: boolean;
    cuda_max: string;
    reliability: number;
    price_per_hour: { on_demand: number; interruptible: number };
  };
  reserved: number;
  preemptible: boolean;
}

interface TrueSheet {
  market_snapshot: string;
  count: number;
  data: { slug: string; name: string; available_gpus: number; price_per_gpu_hour: { on_demand: number } }[];
}

/**
 * The public responses that the tables imply. They are computed from plain rows by the README's rules, without the
 * service's code.
 */
export interface MarketTruth {
  /** Returns all matching offers in order. */
  offers(filter: {
    gpu?: string | undefined;
    region?: string | undefined;
    numMin?: number;
    priceMax?: number | undefined;
    includePreemptible?: boolean;
  }): TrueOffer[];
  /** Includes the other fields of `like`, which aren't computed here. */
  sheet<Like extends object>(like: Like): Like & TrueSheet;
  /** Models in catalogue order. */
  models: Map<string, { name: string; tier: string }>;
  regions: Map<string, string>;
  templates: Map<string, string>;
}

const LEAST_DISK_GB = 50;

// biome-ignore lint/suspicious/noExplicitAny: rows as the database returns them
type Row = any;

export async function readTruth(pool: pg.Pool): Promise<MarketTruth> {
  const read = async (text: string): Promise<Row[]> => (await pool.query(text)).rows;
  const models = await read('select slug, name, tier::text, vram_gb from gpu_model order by position');
  const regions = await read('select code, name from region order by position');
  const templates = await read('select slug, description from template order by position');
  const machines = await read('select * from machine');
  const instances = new Map<string, Row[]>();
  for (const row of await read(`select machine_id, disk_gb, status, mode from instance where status <> 'DESTROYED'`)) {
    instances.set(row.machine_id, [...(instances.get(row.machine_id) ?? []), row]);
  }
  const days = await read('select date::text as day from market_snapshot');
  const newest: string = days
    .map(({ day }) => day)
    .sort()
    .at(-1);
  /** On-demand prices in micro-USD per GPU-hour. */
  const prices = await read(`select gpu, on_demand_rate::int as rate from gpu_price where snapshot_date = '${newest}'`);
  const rates = new Map<string, number>(prices.map(({ gpu, rate }) => [gpu, rate]));

  const offers: (TrueOffer & { micro: number })[] = [];
  for (const machine of machines) {
    const rate = rates.get(machine.gpu);
    if (machine.state !== 'LISTED' || rate === undefined) continue;
    const on = instances.get(machine.id) ?? [];
    const running = on.filter(({ status }) => status === 'RUNNING');
    if (running.some(({ mode }) => mode !== 'INTERRUPTIBLE')) continue;
    const diskGb = on.reduce((left, { disk_gb }) => left - disk_gb, machine.disk_gb);
    if (diskGb < LEAST_DISK_GB) continue;
    const micro = rate * machine.num_gpus;
    offers.push({
      micro,
      preemptible: running.length > 0,
      reserved: (micro * 65) / 100 / 1_000_000,
      shown: {
        machine_id: machine.id,
        gpu: machine.gpu,
        num_gpus: machine.num_gpus,
        region: machine.region,
        cpu: machine.cpu,
        vcpus: machine.vcpus,
        ram_gb: machine.ram_gb,
        disk_gb: diskGb,
        net_mbps: { down: machine.net_down_mbps, up: machine.net_up_mbps },
        ports: machine.ports,
        pcie: machine.pcie,
        nvlink: machine.nvlink,
        cuda_max: machine.cuda_max,
        reliability: machine.reliability,
        price_per_hour: { on_demand: micro / 1_000_000, interruptible: micro / 2 / 1_000_000 },
      },
    });
  }
  offers.sort(
    (one, other) =>
      one.micro - other.micro ||
      other.shown.reliability - one.shown.reliability ||
      (one.shown.machine_id < other.shown.machine_id ? -1 : 1),
  );

  const available = (slug: string) =>
    offers
      .filter(({ shown, preemptible }) => shown.gpu === slug && !preemptible)
      .reduce((sum, { shown }) => sum + shown.num_gpus, 0);
  return {
    offers: ({ gpu, region, numMin = 1, priceMax, includePreemptible = false }) =>
      offers.filter(
        ({ shown, micro, preemptible }) =>
          (gpu === undefined || shown.gpu === gpu) &&
          (region === undefined || shown.region === region) &&
          shown.num_gpus >= numMin &&
          (priceMax === undefined || micro <= priceMax * 1_000_000) &&
          (includePreemptible || !preemptible),
      ),
    sheet: (like) => {
      const data = models
        .filter(({ slug }) => rates.has(slug))
        .map(({ slug, name }) => ({
          ...(like as { data?: Row[] }).data?.find((entry) => entry.slug === slug),
          slug,
          name,
          available_gpus: available(slug),
          price_per_gpu_hour: {
            on_demand: rates.get(slug)! / 1_000_000,
            interruptible: rates.get(slug)! / 2 / 1_000_000,
            reserved: (rates.get(slug)! * 65) / 100 / 1_000_000,
          },
        }));
      return { ...like, market_snapshot: newest, count: data.length, data };
    },
    models: new Map(models.map(({ slug, name, tier }) => [slug, { name, tier }])),
    regions: new Map(regions.map(({ code, name }) => [code, name])),
    templates: new Map(templates.map(({ slug, description }) => [slug, description])),
  };
}
