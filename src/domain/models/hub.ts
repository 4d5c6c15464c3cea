/** A model's files on a hub. */
export interface HubModel {
  /** The text of config.json, as JSON of unknown content. */
  config: Buffer;
  /** Size of the stored weights in bytes, or null if the hub doesn't state it. */
  storedBytes: number | null;
}

/** Port for reading models from a hub. */
export interface ModelHub {
  /** Host of the hub, with its port if it isn't the usual one. */
  readonly host: string;
  /**
   * Reads a model whose name has been checked, on behalf of a client (an account or an address). Throws not_found,
   * invalid_request, rate_limited or unavailable.
   */
  read(name: string, client: string): Promise<HubModel>;
}
