/** HTTP proxy through which connections leave a network. */

export interface HttpProxy {
  /** Its own URL, with user name and password where it asks for them. */
  readonly url: { reveal(): string };
  /** Hosts that are connected without it, as they are configured. */
  readonly direct: readonly string[];
  /** Whether connections to a host go through it; `hostname` as in a parsed URL, without brackets. */
  serves(hostname: string, port: number): boolean;
}
