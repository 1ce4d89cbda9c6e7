/** Addresses of the pages. What a page shows is in its address. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  stringifySearchWith,
} from '@tanstack/react-router';
import { Frame, NotFound } from './frame/frame.tsx';
import { Home } from './frame/home.tsx';
import type { ModelFilters } from './pages/models/filters.ts';
import type { View } from './pages/playground/answer.tsx';
import type { Wire } from './pages/playground/protocols.ts';
import { requestsSearch } from './pages/requests/search.ts';
import { type UseFilters, type UseView, viewOf } from './pages/use/search.ts';
import { videosSearch } from './pages/videos/search.ts';
import { webhooksSearch } from './pages/webhooks/search.ts';
import { json, number, oneOf, type Search, text, truth } from './search-values.ts';
import { type TimeSearch, timeOf } from './times.ts';

interface ModelsSearch extends ModelFilters {
  open?: string;
  compare?: string;
}

/** Whether a chart is shown as a table. */
interface ChartSearch {
  table?: true;
}

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: Home,
});

const key = createRoute({
  getParentRoute: () => root,
  path: '/key',
  validateSearch: (search: Search): TimeSearch & ChartSearch & { program?: string } => ({
    ...timeOf(search),
    program: text(search.program),
    table: truth(search.table),
  }),
  component: lazyRouteComponent(() => import('./pages/key/page.tsx'), 'KeyPage'),
});

const models = createRoute({
  getParentRoute: () => root,
  path: '/models',
  validateSearch: (search: Search): ModelsSearch => ({
    find: text(search.find),
    provider: text(search.provider),
    takes: text(search.takes),
    gives: text(search.gives),
    context: number(search.context),
    price: number(search.price),
    can: text(search.can),
    zdr: truth(search.zdr),
    open: text(search.open),
    compare: text(search.compare),
  }),
  component: lazyRouteComponent(() => import('./pages/models/page.tsx'), 'ModelsPage'),
});

interface KeysSearch {
  find?: string;
  state?: 'active' | 'all';
  tag?: string;
  open?: string;
  create?: true | 'several';
}

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  validateSearch: (search: Search): KeysSearch => ({
    find: text(search.find),
    state: oneOf(['active', 'all'], search.state),
    tag: text(search.tag),
    open: text(search.open),
    create: search.create === true ? true : oneOf(['several'] as const, search.create),
  }),
  component: lazyRouteComponent(() => import('./pages/keys/page.tsx'), 'KeysPage'),
});

interface TagsSearch {
  find?: string;
  open?: string;
  edit?: true;
}

const tags = createRoute({
  getParentRoute: () => root,
  path: '/tags',
  validateSearch: (search: Search): TagsSearch => ({
    find: text(search.find),
    open: text(search.open),
    edit: truth(search.edit),
  }),
  component: lazyRouteComponent(() => import('./pages/tags/page.tsx'), 'TagsPage'),
});

interface UseSearch extends UseFilters, UseView, TimeSearch, ChartSearch {}

const use = createRoute({
  getParentRoute: () => root,
  path: '/use',
  validateSearch: (search: Search): UseSearch => ({
    ...timeOf(search),
    ...viewOf(search),
    key: text(search.key),
    model: text(search.model),
    provider: text(search.provider),
    protocol: text(search.protocol),
    status: text(search.status),
    tag: text(search.tag),
    table: truth(search.table),
  }),
  component: lazyRouteComponent(() => import('./pages/use/page.tsx'), 'UsePage'),
});

const requests = createRoute({
  getParentRoute: () => root,
  path: '/requests',
  validateSearch: requestsSearch,
  component: lazyRouteComponent(() => import('./pages/requests/page.tsx'), 'RequestsPage'),
});

interface PlaygroundSearch {
  wire?: Wire;
  /** Another protocol to compare with. */
  and?: Wire;
  view?: View;
  models?: string;
  key?: string;
  policy?: string;
}

const playground = createRoute({
  getParentRoute: () => root,
  path: '/playground',
  validateSearch: (search: Search): PlaygroundSearch => ({
    wire: oneOf(['chat', 'messages', 'generate', 'responses'], search.wire),
    and: oneOf(['chat', 'messages', 'generate', 'responses'], search.and),
    view: oneOf(['answer', 'wire', 'code', 'explain'], search.view),
    models: text(search.models),
    key: text(search.key),
    policy: json(search.policy),
  }),
  component: lazyRouteComponent(() => import('./pages/playground/page.tsx'), 'PlaygroundPage'),
});

interface ExplainSearch {
  protocol?: Wire;
  model?: string;
  policy?: string;
  ideal?: true;
}

const explain = createRoute({
  getParentRoute: () => root,
  path: '/explain',
  validateSearch: (search: Search): ExplainSearch => ({
    protocol: oneOf(['chat', 'messages', 'generate', 'responses'], search.protocol),
    model: text(search.model),
    policy: json(search.policy),
    ideal: truth(search.ideal),
  }),
  component: lazyRouteComponent(() => import('./pages/explain/page.tsx'), 'ExplainPage'),
});

const health = createRoute({
  getParentRoute: () => root,
  path: '/health',
  validateSearch: (search: Search): { open?: string; gateway?: string } => ({
    open: text(search.open),
    gateway: text(search.gateway),
  }),
  component: lazyRouteComponent(() => import('./pages/health/page.tsx'), 'HealthPage'),
});

const config = createRoute({
  getParentRoute: () => root,
  path: '/config',
  validateSearch: (search: Search): { find?: string; open?: string; all?: true } => ({
    find: text(search.find),
    open: text(search.open),
    all: truth(search.all),
  }),
  component: lazyRouteComponent(() => import('./pages/config/page.tsx'), 'ConfigPage'),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  validateSearch: (search: Search): { program?: string; model?: string } => ({
    program: text(search.program),
    model: text(search.model),
  }),
  component: lazyRouteComponent(() => import('./pages/setup/page.tsx'), 'SetupPage'),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: (search: Search): { find?: string; entry?: number } => ({
    find: text(search.find),
    entry: number(search.entry),
  }),
  component: lazyRouteComponent(() => import('./pages/settings/page.tsx'), 'SettingsPage'),
});

const videos = createRoute({
  getParentRoute: () => root,
  path: '/videos',
  validateSearch: videosSearch,
  component: lazyRouteComponent(() => import('./pages/videos/page.tsx'), 'VideosPage'),
});

const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/webhooks',
  validateSearch: webhooksSearch,
  component: lazyRouteComponent(() => import('./pages/webhooks/page.tsx'), 'WebhooksPage'),
});

/** Objects and quoted text. Other values stay as they are written, so that `1e5` is no number with other digits. */
function parseValue(value: string): unknown {
  if (/^["[{]/.test(value)) return JSON.parse(value);
  throw new SyntaxError('It is plain text.');
}

export const router = createRouter({
  parseSearch: parseSearchWith(parseValue),
  stringifySearch: stringifySearchWith(JSON.stringify, parseValue),
  routeTree: root.addChildren([
    index,
    config,
    explain,
    health,
    key,
    keys,
    models,
    playground,
    requests,
    settings,
    setup,
    tags,
    use,
    videos,
    webhooks,
  ]),
  basepath: '/ui',
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
