/** Members of a request with a meaning of their own for the gateway, and values of its `include`. */

/** Members for the gateway, as on chat completions; never sent upstream. */
export const GATEWAY_FIELDS = ['provider', 'models', 'route', 'model_routing_config', 'session_id', 'trace', 'debug'];

/** Members that name stored content: the request itself must give them, so that they are checked. */
export const RESERVED_FIELDS = ['input', 'previous_response_id', 'conversation', 'background', 'prompt_cache_options'];

/** Value of `include` for the state of reasoning, to be handed back with the next request. */
export const STATE_INCLUDED = 'reasoning.encrypted_content';

/** Value of `include` for the addresses of the pages that a search found. */
export const SOURCES_INCLUDED = 'web_search_call.action.sources';

export const LOGPROBS_INCLUDED = 'message.output_text.logprobs';
