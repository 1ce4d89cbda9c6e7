/** Parts of an answer that not every protocol has. */

import type { Json } from './json/json.ts';

/** A wire object that only its own protocol understands (a server tool's block); kept for that protocol, dropped for others. Without a protocol, no wire has it as a part. */
export interface Native {
  protocol: string;
  value: Json;
}

/** A search of the web that the provider runs. Wires that tell its beginning and its end do so in two parts with the same id. */
export interface WebSearch {
  id: string;
  queries?: string[];
  /** Addresses of the pages that were found; only at the end of the search. */
  sources?: string[];
  failed?: boolean;
}
