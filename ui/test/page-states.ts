/** Pages by who sees them, and what they show when they are filled and when they are empty. */

import type { Locator, Page } from 'playwright-core';

export interface PageStates {
  /** Of the gateway with requests; an empty state of its own has a path of its own. */
  path: string;
  filled(page: Page): Locator;
  /** At a gateway without requests; at this one with a filter where there is always something. */
  empty?: string | RegExp;
  emptyPath?: string;
  /** Where there are several, each of which may fail alone. */
  sources?: Source[];
}

/** Questions of a page, and what the page shows while they alone have no answer. */
export interface Source {
  /** Of their addresses. */
  asked: RegExp;
  /** With a button that asks again. */
  notice(page: Page): Locator;
  /** From other sources; by default what the page is filled with. */
  others?(page: Page): Locator;
}

const rowOf = (name: RegExp) => (page: Page) => page.getByRole('row', { name }).first();
const mainOf = (page: Page) => page.getByRole('main');
const partOf = (name: string) => (page: Page) => page.getByRole('region', { name, exact: true });
const firstRowIn = (name: string) => (page: Page) => partOf(name)(page).getByRole('row').nth(1);
const textOf = (text: string) => (page: Page) => mainOf(page).getByText(text).first();
const NO_ANSWER = 'The gateway does not answer';

/** What the page can do without: a note names it. */
function missing(asked: RegExp, name: string): Source {
  return {
    asked,
    notice: (page) => page.locator('[data-spoken]').filter({ hasText: `${name} are missing: ${NO_ANSWER}` }),
  };
}

/** Content of a part of the page, by default of all of it: an error is in its place. */
function failing(asked: RegExp, others?: Source['others'], part = mainOf): Source {
  return {
    asked,
    notice: (page) => part(page).getByRole('alert').filter({ hasText: NO_ANSWER }).first(),
    ...(others && { others }),
  };
}

const SUMMARIES = [
  failing(/\/requests\/summary(?!.*[?&]from=)/),
  missing(/\/requests\/summary.*[?&]from=/, 'Requests a second and cost an hour'),
];
const LIST = /\/v1\/(?:self\/)?requests(\?|$)/;
const PLAYGROUND = [failing(/\/v1\/models\?view=names$/), failing(/\/openapi\.json$/)];
const SETUP = [
  failing(/\/v1\/models\?view=names$/, textOf('Waiting for a request'), partOf('Your program')),
  failing(LIST, undefined, partOf('Its first request')),
];
const SETTINGS = [
  failing(/\/v1\/(?:self\/)?views$/, undefined, partOf('Saved views')),
  failing(/\/v1\/(?:self\/)?sessions/, textOf('Licences of the libraries'), partOf('Sessions')),
];
const VIDEO_PRICES = missing(/\/v1\/videos\/models$/, 'Prices of videos');
const PRICE_CHANGES = missing(/\/models\/price-changes/, 'Changes of prices');
const VIDEO_SUMS = missing(/\/usage\?.*protocol=videos/, 'Sums of videos');

/** With requests, a conversation, a tag, a video and a webhook of the key of the tests. */
export const OPERATOR_PAGES = {
  Requests: {
    path: '/ui/requests',
    filled: rowOf(/sandbox.echo/),
    empty: '/v1/chat/completions',
    sources: [...SUMMARIES, failing(LIST, textOf('In flight'))],
  },
  Conversations: {
    path: '/ui/requests?view=sessions',
    filled: rowOf(/paper-boats/),
    empty: 'No conversation is named',
    sources: [...SUMMARIES, failing(/\/requests\/sessions/, textOf('In flight'))],
  },
  'Use and cost': {
    path: '/ui/use?by=model',
    filled: rowOf(/sandbox.echo/),
    empty: '/v1/chat/completions',
    sources: [missing(/\/v1\/tags/, 'Names of tags'), VIDEO_SUMS],
  },
  Keys: {
    path: '/ui/keys',
    filled: rowOf(/test/),
    empty: 'No key is like that',
    emptyPath: '/ui/keys?find=no-such-key',
  },
  Tags: {
    path: '/ui/tags',
    filled: rowOf(/search/),
    empty: 'No key has a tag yet',
  },
  Playground: {
    path: '/ui/playground',
    filled: (page) => page.getByRole('button', { name: 'Send' }),
    empty: 'Nothing was asked yet',
    sources: [...PLAYGROUND, failing(/\/admin\/v1\/keys/)],
  },
  Videos: {
    path: '/ui/videos',
    filled: (page) => page.getByRole('button', { name: /A paper boat/ }).first(),
    empty: 'No videos yet',
    sources: [
      missing(/\/videos\/summary/, 'Sums of videos'),
      failing(/\/v1\/videos(\?|$)/, (page) => mainOf(page).locator('dl').first()),
    ],
  },
  Webhooks: {
    path: '/ui/webhooks',
    filled: rowOf(/127.0.0.1/),
    empty: 'No webhooks yet',
    sources: [
      missing(/\/deliveries\/receivers/, 'Receivers and their success rates'),
      failing(/\/deliveries(\?|$)/, partOf('Receivers')),
    ],
  },
  Explain: {
    path: '/ui/explain',
    filled: rowOf(/sandbox.echo/),
    sources: [missing(/\/v1\/models\?view=names$/, 'Names of models'), failing(/\/v1\/explain$/, partOf('The rules'))],
  },
  Health: {
    path: '/ui/health',
    filled: rowOf(/sandbox.echo/),
    empty: 'No endpoint was used in the last day',
    sources: [
      failing(/\/health\/endpoints/, textOf('Usage records'), partOf('Endpoints')),
      failing(/\/health\/replicas/, undefined, partOf('Gateways')),
      failing(/\/health\/store/, undefined, partOf('Store')),
    ],
  },
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
    sources: [
      missing(/\/models\/statistics/, 'Times to the first byte and tokens per second'),
      PRICE_CHANGES,
      VIDEO_PRICES,
    ],
  },
  Setup: {
    path: '/ui/setup',
    filled: (page) => page.getByText('/v1/chat/completions').first(),
    empty: 'Waiting for a request',
    sources: [...SETUP, failing(/\/v1\/setup$/, undefined, partOf('A provider'))],
  },
  Settings: {
    path: '/ui/settings',
    filled: rowOf(/admin/),
    sources: [...SETTINGS, failing(/\/v1\/audit/, textOf('Licences of the libraries'), partOf('Audit log'))],
  },
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
  'My key': {
    path: '/ui/key',
    filled: rowOf(/sandbox.echo/),
    empty: 'No requests in this time',
    sources: [
      VIDEO_SUMS,
      failing(/\/self\/usage(?!.*protocol=videos)/, firstRowIn('Newest requests')),
      failing(/\/v1\/key$/, undefined, partOf('Limits')),
      failing(LIST, undefined, partOf('Newest requests')),
    ],
  },
  'Own requests': { ...OPERATOR_PAGES.Requests, empty: 'No requests yet' },
  'Own conversations': OPERATOR_PAGES.Conversations,
  'Own playground': { ...OPERATOR_PAGES.Playground, sources: PLAYGROUND },
  'Own videos': OPERATOR_PAGES.Videos,
  'Own webhooks': OPERATOR_PAGES.Webhooks,
  'Models for a key': { ...OPERATOR_PAGES.Models, sources: [PRICE_CHANGES, VIDEO_PRICES] },
  'Setup of a key': { ...OPERATOR_PAGES.Setup, sources: SETUP },
  'Own settings': { path: '/ui/settings', filled: rowOf(/key this one/), sources: SETTINGS },
};

/** Without a session. */
export const VISITOR_PAGES: Record<string, PageStates> = {
  'Public models': { ...OPERATOR_PAGES.Models, sources: [] },
};
