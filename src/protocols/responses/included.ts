/** Values of `include`: what a client wants to have in the answer. */

/** State of reasoning, to be handed back with the next request. */
export const STATE_INCLUDED = 'reasoning.encrypted_content';

/** Addresses of the pages that a search found. */
export const SOURCES_INCLUDED = 'web_search_call.action.sources';

export const LOGPROBS_INCLUDED = 'message.output_text.logprobs';
