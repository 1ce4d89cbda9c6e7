/** Pages by who sees them, and what they show when they are filled and when they are empty. */

import type { Locator, Page } from 'playwright-core';

export interface PageStates {
  /** Of the gateway with requests; an empty state of its own has a path of its own. */
  path: string;
  filled(page: Page): Locator;
  /** At a gateway without requests; at this one with a filter where there is always something. */
  empty?: string | RegExp;
  emptyPath?: string;
}

const rowOf = (name: RegExp) => (page: Page) => page.getByRole('row', { name }).first();

/** With requests, a conversation, a tag, a video and a webhook of the key of the tests. */
export const OPERATOR_PAGES = {
  Requests: { path: '/ui/requests', filled: rowOf(/sandbox.echo/), empty: '/v1/chat/completions' },
  Conversations: {
    path: '/ui/requests?view=sessions',
    filled: rowOf(/paper-boats/),
    empty: 'No conversation is named',
  },
  'Use and cost': { path: '/ui/use?by=model', filled: rowOf(/sandbox.echo/), empty: '/v1/chat/completions' },
  Keys: {
    path: '/ui/keys',
    filled: rowOf(/test/),
    empty: 'No key is like that',
    emptyPath: '/ui/keys?find=no-such-key',
  },
  Tags: { path: '/ui/tags', filled: rowOf(/search/), empty: 'No key has a tag yet' },
  Playground: {
    path: '/ui/playground',
    filled: (page) => page.getByRole('button', { name: 'Send' }),
    empty: 'Nothing was asked yet',
  },
  Videos: {
    path: '/ui/videos',
    filled: (page) => page.getByRole('button', { name: /A paper boat/ }).first(),
    empty: 'No videos yet',
  },
  Webhooks: { path: '/ui/webhooks', filled: rowOf(/127.0.0.1/), empty: 'No webhooks yet' },
  Explain: { path: '/ui/explain', filled: rowOf(/sandbox.echo/) },
  Health: { path: '/ui/health', filled: rowOf(/sandbox.echo/), empty: 'No endpoint was used in the last day' },
  Configuration: {
    path: '/ui/config',
    filled: (page) => page.getByText('server.body_limit').first(),
    empty: 'No setting is like that',
    emptyPath: '/ui/config?find=no-such-setting',
  },
  Models: {
    path: '/ui/models',
    filled: rowOf(/sandbox.echo/),
    empty: 'No model is like that',
    emptyPath: '/ui/models?find=no-such-model',
  },
  Setup: {
    path: '/ui/setup',
    filled: (page) => page.getByText('/v1/chat/completions').first(),
    empty: 'Waiting for a request',
  },
  Settings: { path: '/ui/settings', filled: rowOf(/admin/) },
} satisfies Record<string, PageStates>;

/** Lists in which a filter leaves something, and nothing. */
export const FILTERED_PAGES: Record<string, PageStates> = {
  'Requests with a filter': {
    path: '/ui/requests?protocol=chat',
    filled: rowOf(/sandbox.echo/),
    empty: 'No request is like that',
    emptyPath: '/ui/requests?status=cancelled',
  },
  'Use with a filter': {
    path: '/ui/use?protocol=chat',
    filled: rowOf(/sandbox.echo/),
    empty: 'No request is like that in this time',
    emptyPath: '/ui/use?status=cancelled',
  },
};

export const HOLDER_PAGES: Record<string, PageStates> = {
  'My key': { path: '/ui/key', filled: rowOf(/sandbox.echo/), empty: 'No requests in this time' },
  'Own requests': { path: '/ui/requests', filled: rowOf(/sandbox.echo/), empty: 'No requests yet' },
  'Own conversations': OPERATOR_PAGES.Conversations,
  'Own playground': OPERATOR_PAGES.Playground,
  'Own videos': OPERATOR_PAGES.Videos,
  'Own webhooks': OPERATOR_PAGES.Webhooks,
  'Models for a key': OPERATOR_PAGES.Models,
  'Setup of a key': OPERATOR_PAGES.Setup,
  'Own settings': { path: '/ui/settings', filled: rowOf(/key this one/) },
};

/** Without a session. */
export const VISITOR_PAGES: Record<string, PageStates> = { 'Public models': OPERATOR_PAGES.Models };
