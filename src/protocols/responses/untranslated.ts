/** Translation of the Responses protocol: none yet, so that its requests need an upstream that speaks it, and only they. */

import { GatewayError } from '../../core/errors.ts';
import type { CompleteOperation } from '../../core/operation.ts';

/** The request of a Responses client for an upstream of another protocol. */
export const decodeRequest: CompleteOperation['decodeRequest'] = () => {
  throw new GatewayError(
    'unsupported_parameter',
    'The provider of this model does not speak the Responses protocol, and its requests are not translated yet; use POST /v1/chat/completions.',
    { param: 'model' },
  );
};

/** Called for an upstream that does not stream, although the client asked for a stream. */
export const streamEncoder: CompleteOperation['streamEncoder'] = () => {
  throw new GatewayError('upstream_error', 'The upstream answered with a whole response instead of a stream.');
};

export const encodeResponse: CompleteOperation['encodeResponse'] = untranslated;

/** Never called: the request is refused before. */
function untranslated(): never {
  throw new GatewayError('internal_error', 'Answers of the Responses protocol are not translated yet.');
}
