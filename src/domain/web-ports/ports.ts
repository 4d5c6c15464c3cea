import { webHostOf } from '../rules/web-site.js';

/** Settings that determine addresses. */
interface Settings {
  publicUrl: string;
  serviceDomain: string;
}

/** The ports in a container's row. */
export interface PortsRow {
  /** Ports of its template; the first is the web port. */
  ports: number[];
  /** Ports of its image, ascending. */
  imagePorts: number[];
}

/** Names of ports, by port. */
type PortNames = Record<string, string>;

/** The address of a port. */
export interface InstancePort {
  port: number;
  /** Display name, such as JupyterLab. */
  name: string | null;
  url: string;
  /** Whether any visitor may open it. */
  isOpen: boolean;
}

/** Returns the port behind `<id>.<domain>`: the template's first port, or else the image's; null if neither has one. */
export function firstPortOf({ ports, imagePorts }: PortsRow): number | null {
  return ports[0] ?? imagePorts[0] ?? null;
}

/** Lists the ports of the template (or else the image) in its order, then the open ones. */
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

/** Returns the URL of an instance's port, without a trailing slash, with the protocol and port of PUBLIC_URL. */
export function webUrlOf({ publicUrl, serviceDomain }: Settings, id: string, port: number | null): string {
  const { protocol, port: gatewayPort } = new URL(publicUrl);
  return `${protocol}//${webHostOf(id, port, serviceDomain)}${gatewayPort === '' ? '' : `:${gatewayPort}`}`;
}

/** Columns that the functions below read. */
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

/** Returns the ports of an instance; none for one that exists only as a record, without an agent. */
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
