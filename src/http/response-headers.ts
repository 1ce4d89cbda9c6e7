/** Response headers of a request: those of all its answers, each with a setter, to be read where an answer's head is written. */

export interface ResponseHeaders {
  /** What the limits of the key leave: `x-ratelimit-*`. */
  setRateLimit(headers: Record<string, string>): void;
  /** The id by which the usage record of the answer is found. */
  setGenerationId(id: string): void;
  /** Attempts at upstreams. */
  setAttempts(count: number): void;
  /** These, and the headers of one answer, which come last. */
  with(headers?: Record<string, string>): Record<string, string>;
}

/** `requestIdName` is the protocol's own name of the header for the request id. */
export function createResponseHeaders(requestId: string, requestIdName: string): ResponseHeaders {
  const headers: Record<string, string> = { [requestIdName]: requestId, 'x-polygate-request-id': requestId };
  return {
    setRateLimit: (rateLimit) => void Object.assign(headers, rateLimit),
    setGenerationId(id) {
      headers['x-polygate-generation-id'] = id;
    },
    setAttempts(count) {
      headers['x-polygate-attempts'] = String(count);
    },
    with: (more = {}) => ({ ...headers, ...more }),
  };
}
