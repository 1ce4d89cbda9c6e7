/**
 * Listen address of the configuration alone. Nothing else of it is checked: a gateway goes on with its valid configuration
 * while the file is not.
 */

import { createVariableLookup, type Environment } from './environment.ts';
import { type ConfigLocation, readConfigText } from './location.ts';
import { readSource } from './source.ts';

const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 8080 };
/** The part of the schema by which variables become numbers. */
const PORT_SCHEMA = { properties: { server: { properties: { port: { type: 'integer' } } } } };

/** Falls back to the default address. */
export function readListenAddress(location: ConfigLocation & { environment: Environment }): {
  host: string;
  port: number;
} {
  const { value } = readSource(textOf(location), PORT_SCHEMA, createVariableLookup(location.environment));
  const { host, port } = value?.server ?? {};
  return {
    host: typeof host === 'string' && host !== '' ? host : DEFAULT_ADDRESS.host,
    port: Number.isInteger(port) ? port : DEFAULT_ADDRESS.port,
  };
}

function textOf(location: ConfigLocation): string {
  try {
    return readConfigText(location);
  } catch {
    return '';
  }
}
