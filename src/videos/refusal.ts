/** Errors for the fields of a creation request. */

import { GatewayError } from '../core/errors.ts';

export interface UnsupportedValue {
  param: string;
  value: unknown;
  /** Empty or absent if the model does not support the field at all. */
  allowed?: readonly (string | number)[] | undefined;
  model: string;
}

export function refuseValue({ param, value, allowed = [], model }: UnsupportedValue): never {
  const message =
    allowed.length === 0
      ? `${param} is not supported by ${model}; leave it out.`
      : `${param} ${JSON.stringify(value)} is not supported by ${model}; allowed: ${allowed.join(', ')}.`;
  throw new GatewayError('unsupported_parameter_value', message, { param });
}

/** Throws `invalid_request`; `message` continues a sentence that begins with the parameter. */
export function refuse(param: string, message: string): never {
  throw new GatewayError('invalid_request', `${param} ${message}`, { param });
}
