/** Workloads: the requests of the benchmark, as a gateway gets them and as a relay passes them on. */

export interface Workload {
  id: string;
  title: string;
  /** Path at a gateway, and the model that it is asked for. */
  path: string;
  model: string;
  /** Path at a relay, and at the upstream. */
  upstreamPath: string;
  body(model: string): string;
  /** It comes with the key that has limits and budgets. */
  isLimited?: boolean;
}

const CHAT_PATH = '/v1/chat/completions';
const MESSAGES_PATH = '/anthropic/v1/messages';
const RESPONSES_PATH = '/v1/responses';

/** About 2 kB, as a request with some history has it. */
const TEXT = 'What the question is about takes a few sentences to say. ';

const chatBody =
  (options: { size?: number; fields?: object } = {}) =>
  (model: string) => {
    const { size = 1800, fields = { max_tokens: 256, temperature: 0.2 } } = options;
    return JSON.stringify({
      model,
      messages: [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: TEXT.repeat(Math.ceil(size / TEXT.length)).slice(0, size) },
      ],
      ...fields,
    });
  };

const messagesBody = (fields: object) => (model: string) =>
  JSON.stringify({
    model,
    max_tokens: 256,
    temperature: 0.2,
    system: 'You are a helpful assistant.',
    messages: [{ role: 'user', content: TEXT.repeat(40).slice(0, 1800) }],
    ...fields,
  });

const responsesBody = (model: string) =>
  JSON.stringify({
    model,
    instructions: 'You are a helpful assistant.',
    input: [{ role: 'user', content: TEXT.repeat(40).slice(0, 1800) }],
    store: false,
    stream: true,
  });

export const passthrough: Workload = {
  ...{ id: 'passthrough', title: 'whole answer, passthrough', path: CHAT_PATH, model: 'instant/m' },
  ...{ upstreamPath: '/instant/v1/chat/completions', body: chatBody() },
};

export const patched: Workload = {
  ...{ id: 'patched', title: 'whole answer, patched (max_tokens renamed)', path: CHAT_PATH, model: 'patched/m' },
  ...{ upstreamPath: '/instant/v1/chat/completions', body: chatBody() },
};

export const messagesToChat: Workload = {
  ...{ id: 'messages-to-chat', title: 'whole answer, messages to chat', path: MESSAGES_PATH, model: 'instant/m' },
  ...{ upstreamPath: '/instant/v1/chat/completions', body: messagesBody({}) },
};

export const chatToMessages: Workload = {
  ...{ id: 'chat-to-messages', title: 'whole answer, chat to messages', path: CHAT_PATH, model: 'messages/m' },
  ...{ upstreamPath: '/instant/v1/messages', body: chatBody() },
};

/** At a model with prices, which a budget needs. */
export const priced: Workload = { ...passthrough, id: 'priced', title: 'whole answer, priced', model: 'priced/m' };

export const limited: Workload = {
  ...priced,
  ...{ id: 'limited', title: 'whole answer, key with limits and budgets', isLimited: true },
};

export const medium: Workload = {
  ...{ id: '100kB', title: 'request of 100 kB', path: CHAT_PATH, model: 'large/m' },
  ...{ upstreamPath: '/large/v1/chat/completions', body: chatBody({ size: 100_000 }) },
};

export const large: Workload = {
  ...{ id: '5MB', title: 'request of 5 MB', path: CHAT_PATH, model: 'large/m' },
  ...{ upstreamPath: '/large/v1/chat/completions', body: chatBody({ size: 5_000_000 }) },
};

export const frames: Workload = {
  ...{ id: 'frame', title: 'streamed frame, passthrough', path: CHAT_PATH, model: 'frames/m' },
  ...{ upstreamPath: '/frames/v1/chat/completions', body: chatBody({ fields: { stream: true } }) },
};

export const responsesFrames: Workload = {
  ...{ id: 'frame-responses', title: 'streamed frame, Responses relay', path: RESPONSES_PATH, model: 'responses/m' },
  ...{ upstreamPath: '/frames/v1/responses', body: responsesBody },
};

export const translatedFrames: Workload = {
  ...{ id: 'frame-translated', title: 'streamed frame, messages to chat', path: MESSAGES_PATH, model: 'frames/m' },
  ...{ upstreamPath: '/frames/v1/chat/completions', body: messagesBody({ stream: true }) },
};

export const slowStream: Workload = {
  ...{ id: 'slow', title: 'slow stream', path: CHAT_PATH, model: 'slow/m' },
  ...{ upstreamPath: '/slow/v1/chat/completions', body: chatBody({ fields: { stream: true } }) },
};
