import { webHostOf } from '../kernel/web-site.js';

/** Settings that determine port URLs. */
interface Settings {
  publicUrl: string;
  serviceDomain: string;
}

/** Port columns of a container's row. */
export interface PortsRow {
  /** The template's ports, of which the first is the web port. */
  ports: number[];
  /** The image's ports in ascending order. */
  imagePorts: number[];
}

/** Port names, by port. */
type PortNames = Record<string, string>;

/** A port and its URL. */
export interface InstancePort {
  port: number;
  /** Display name, such as JupyterLab. */
  name: string | null;
  url: string;
  /** Whether any visitor can access the port. */
  isOpen: boolean;
}

/**
 * Returns the port behind `<id>.<domain>`, which is the template's first port or, if it has none, the image's. Returns
 * null if neither has one.
 */
export function firstPortOf({ ports, imagePorts }: PortsRow): number | null {
  return ports[0] ?? imagePorts[0] ?? null;
}

/** Lists the template's ports in their order, or the image's if the template has none, followed by the open ports. */
function portsOf(
  settings: Settings,
  id: string,
  row: PortsRow & { portNames: unknown },
  open: readonly number[],
): InstancePort[] {
  const names = row.portNames as PortNames;
  const first = firstPortOf(row);
  const named = row.ports.length > 0 ? row.ports : row.imagePorts;
  return [...new Set([...named, ...open])].map((port) => ({
    port,
    name: names[port] ?? null,
    url: webUrlOf(settings, id, port === first ? null : port),
    isOpen: open.includes(port),
  }));
}

/** Returns the URL of an instance's port, without a trailing slash, using the protocol and port of PUBLIC_URL. */
export function webUrlOf({ publicUrl, serviceDomain }: Settings, id: string, port: number | null): string {
  const { protocol, port: gatewayPort } = new URL(publicUrl);
  return `${protocol}//${webHostOf(id, port, serviceDomain)}${gatewayPort === '' ? '' : `:${gatewayPort}`}`;
}

/** Columns needed by `portsOfInstance`. */
export const PORTS_SELECT = {
  id: true,
  container: { select: { ports: true, imagePorts: true, portNames: true } },
  openPorts: { select: { port: true }, orderBy: { port: 'asc' } },
} as const;

interface InstanceWithPorts {
  id: string;
  container: (PortsRow & { portNames: unknown }) | null;
  openPorts: { port: number }[];
}

/** Returns an instance's ports. An instance without an agent exists only as a record, so it has no ports. */
export function portsOfInstance(settings: Settings, { id, container, openPorts }: InstanceWithPorts): InstancePort[] {
  if (container === null) return [];
  return portsOf(
    settings,
    id,
    container,
    openPorts.map(({ port }) => port),
  );
}

export function webUrlOfInstance(settings: Settings, { id, container }: InstanceWithPorts): string | null {
  return container === null || firstPortOf(container) === null ? null : webUrlOf(settings, id, null);
}
