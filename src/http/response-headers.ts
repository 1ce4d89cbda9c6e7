/** Response headers common to every response to a request: set while it is handled, read when the head is written. */

export interface ResponseHeaders {
  /** `x-ratelimit-*`: limits of the key and what is left of them. */
  setRateLimit(headers: Record<string, string>): void;
  /** Id of the usage record. */
  setGenerationId(id: string): void;
  /** Number of attempts. */
  setAttempts(count: number): void;
  /** These headers, overridden by those of one response. */
  with(headers?: Record<string, string>): Record<string, string>;
}

/** `requestIdName` is the header for the request id in the protocol. */
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
