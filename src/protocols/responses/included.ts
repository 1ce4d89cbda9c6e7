/** Values of `include`: what a client wants to have in the answer. */

/** State of reasoning, to be handed back with the next request. */
export const STATE_INCLUDED = 'reasoning.encrypted_content';

export const LOGPROBS_INCLUDED = 'message.output_text.logprobs';
