/** The codecs of Converse, which are loaded together. */

export { decodeError, errorIn, repair } from './errors.ts';
export { decodeUsage } from './finish.ts';
export { encodeRequest, limitOutput } from './request-encoder.ts';
export { decodeResponse } from './response.ts';
export { createStreamDecoder } from './stream-decoder.ts';
