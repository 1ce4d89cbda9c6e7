/** Ids of translated answers: made of the request's, which is unique, whatever the upstream calls its answer. */

/** What each protocol puts its own prefix before. */
export function answerIdOf(requestId: string): string {
  return requestId.replace(/^req_/, '');
}

/** The request of a translated answer, by the answer's id in any protocol; undefined for ids of other origin. */
export function requestIdOf(id: string): string | undefined {
  const own = /^(?:chatcmpl-|msg_)?([0-9a-f]{32})$/.exec(id)?.[1];
  return own && `req_${own}`;
}
