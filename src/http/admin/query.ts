/** Query parameters of the admin API. */

import { GatewayError } from '../../core/errors.ts';

export function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new GatewayError('invalid_request', `${name} must be true or false.`, { param: name });
}

interface Bounds<Default> {
  least: number;
  most: number;
  byDefault: Default;
}

export function whole<Default extends number | undefined>(
  query: URLSearchParams,
  name: string,
  { least, most, byDefault }: Bounds<Default>,
): number | Default {
  const text = query.get(name);
  if (text === null) return byDefault;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
  throw new GatewayError('invalid_request', `${name} must be a whole number between ${least} and ${most}.`, {
    param: name,
  });
}
