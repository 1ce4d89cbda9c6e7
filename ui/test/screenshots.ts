/**
 * `node ui/test/screenshots.ts FOLDER [PAGE ...]`: pictures of all pages, or of those that are named, with two days of made-up
 * use, in both themes, wide and narrow, to be looked at. Needs what `npm run test:ui` installs and builds.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createPages } from '../../src/http/ui/pages.ts';
import { answerEvents, answerJson, startTestGateway, startUpstream } from '../../test/gateway/harness.ts';
import { CLOSED_URL, OLLAMA_LIST, typesAt } from '../../test/gateway/local-types.ts';
import { eventually, passTime, videoClient } from '../../test/gateway/video-client.ts';
import { createManualClock } from '../../test/jobs/manual-clock.ts';
import { startReceiver } from '../../test/webhooks/receiver.ts';
import { adminOf, openBrowser, signInAsAdmin, TOKEN, visit } from './browser.ts';

const HOUR_MS = 3_600_000;
/** Two days, so that one is compared with the other. */
const HOURS = 47;
/** Time that all answers together take. */
const MINUTES_FOR_ANSWERS = 5;
const PAGES = {
  requests: '/ui/requests',
  conversations: '/ui/requests?view=sessions',
  use: '/ui/use?by=model',
  'use-by-key': '/ui/use?by=key&metric=tokens',
  'use-two-levels': '/ui/use?by=key&second=model&top=5&cumulative=true',
  'use-by-tag': '/ui/use?by=tag:team',
  'use-two-levels-compared': '/ui/use?by=tag:team&second=model&top=6',
  keys: '/ui/keys',
  tags: '/ui/tags',
  tag: '/ui/tags?open=team%3Dsearch',
  'limit-tag': '/ui/tags?edit=true',
  'create-key': '/ui/keys?create=true',
  'create-keys': '/ui/keys?create=several',
  playground: '/ui/playground?wire=messages&models=sandbox/echo,sandbox/reasoner',
  wire: '/ui/playground?wire=messages&models=openai/gpt-4o-mini&view=wire',
  'wire-compared': '/ui/playground?wire=messages&and=generate&models=openai/gpt-4o-mini&view=wire',
  explain: '/ui/explain?model=openai/gpt-4o-mini',
  health: '/ui/health',
  endpoint: '/ui/health?open=deepseek/deepseek-chat',
  config: '/ui/config',
  'config-all': '/ui/config?all=true&find=limits',
  setting: '/ui/config?open=server.public_url&all=true',
  videos: '/ui/videos',
  'videos-list': '/ui/videos?view=list',
  webhooks: '/ui/webhooks',
  setup: '/ui/setup',
  settings: '/ui/settings',
  'audit-entry': '/ui/settings?entry=1',
  models: '/ui/models',
  model: '/ui/models?open=openai/gpt-4o-mini',
  'models-compared': '/ui/models?compare=openai/gpt-4o-mini,deepseek/deepseek-chat,mistral/mistral-small-latest',
};
/** What the holder of a key sees. */
const PAGES_OF_KEY = {
  'my-key': '/ui/key',
  'my-requests': '/ui/requests',
  'my-playground': '/ui/playground?wire=chat&models=openai/gpt-4o-mini',
  'my-videos': '/ui/videos',
  'my-webhooks': '/ui/webhooks',
  'my-models': '/ui/models',
  'my-setup': '/ui/setup',
  'my-settings': '/ui/settings',
};
/** What is done on a page before its picture is taken. */
const ACTIONS: Record<string, (page: Page) => Promise<unknown>> = {
  'ask-for-a-video': (page) => page.getByRole('button', { name: 'Ask for a video' }).click(),
  setup: async (page) => {
    await page.getByRole('button', { name: 'Look for local model servers' }).click();
    await page.getByText('providers:').waitFor();
  },
};
/** As coding agents name theirs. */
const CONVERSATIONS = ['fix-flaky-login-test', 'migrate-invoices-to-v2', 'docs-for-the-search-api'];
const MODELS = [
  'house/fast',
  'openai/gpt-4o-mini',
  'openai/gpt-4.1-mini',
  'deepseek/deepseek-chat',
  'mistral/mistral-small-latest',
];
const OWNERS = ['Ana', 'Ben', 'Cleo', 'Dora'];
const TEAMS = ['platform', 'search', 'search', 'support'];
const KEYS = ['ci', 'laptop', 'search-team', 'support-bot'];
const NO_SERVERS = { vllm: CLOSED_URL, 'llama-cpp': CLOSED_URL, 'lm-studio': CLOSED_URL };
const VIEWS = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
] as const;

/** Height of the window, by its width: all of a page that is narrow is seldom in view. */
const HEIGHTS: Record<number, number> = { 1280: 1000, 390: 1600 };

const [folder = 'screenshots', ...chosen] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const clock = createManualClock(Date.now() - HOURS * HOUR_MS - MINUTES_FOR_ANSWERS * 60_000);
const upstream = await startUpstream((call, response) => {
  // An answer takes its time.
  clock.advance(300 + ((upstream.calls.length * 131) % 900));
  // Some are told to wait, and then answered by the next endpoint; some fail.
  const { length } = upstream.calls;
  if (call.body.model === 'gpt-4.1-mini' && length % 4 === 0) {
    return answerJson(response, { error: { message: 'Rate limit reached.' } }, 429);
  }
  if (call.body.model === 'deepseek-chat' && length % 7 === 0) {
    return answerJson(response, { error: { message: 'The server is overloaded.' } }, 503);
  }
  const size = 400 + ((upstream.calls.length * 7919) % 9000);
  const usage = { prompt_tokens: size, completion_tokens: Math.floor(size / 4), total_tokens: size + size / 4 };
  if (call.body.stream) {
    answerEvents(response, streamOf(call.body.model, usage));
    return;
  }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
  answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: call.body.model, choices, usage });
});
const secretOf = (name: string) => `sk-made-up-key-of-${name}-0123456789`;
const providers = ['openai', 'deepseek', 'mistral'].map((id) => `${id}: { base_url: "${upstream.url}", api_key: x }`);
const CA = join(import.meta.dirname, '../../test/net/fixtures/test-only-ca.pem');
const callbacks = `{ secret: whsec_bWFkZSB1cCBmb3IgcGljdHVyZXMgb25seSEhISEhISE=, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`;
const tags =
  '{ team=search: { limits: { requests_per_minute: 600, concurrent_requests: 20 }, budgets: { day: "0.60", month: "2.50" } } }';
const models =
  '{ house/fast: { endpoints: [{ provider: openai, model: gpt-4.1-mini }, { provider: mistral, model: mistral-small-latest }] } }';
const yaml = `admin: { token: ${TOKEN}, port: 0 }\nmodels: ${models}\ntags: ${tags}\nproviders: { ${providers.join(', ')} }\ncallbacks: ${callbacks}`;
const receiver = await startReceiver((response, _received, index) =>
  response.writeHead(index % 3 === 1 ? 503 : 204).end(),
);
const ollama = await startUpstream((_call, response) => answerJson(response, OLLAMA_LIST));
const brokenReceiver = await startReceiver((response) => response.writeHead(500).end());
const gateway = await startTestGateway(yaml, {
  clock,
  pages: createPages(),
  providerTypes: typesAt({ ...NO_SERVERS, ollama: ollama.url }),
  keys: KEYS.map(
    (name, index) =>
      `{ name: ${name}, key: ${secretOf(name)}, owner: ${OWNERS[index]}, tags: { team: ${TEAMS[index]}, env: prod }, budgets: { month: "${index + 1}.00" } }`,
  ),
});
const browser = await openBrowser();
try {
  for (let hour = 0; hour <= HOURS; hour++) {
    const count = 2 + Math.round(4 * Math.sin((hour / HOURS) * Math.PI) + ((hour * 5) % 3));
    for (let index = 0; index < count; index++) await ask(hour + index);
    if (hour < HOURS) clock.advance(HOUR_MS);
  }
  await makeVideos();
  const panels = await panelsOf();
  for (const [theme, width] of VIEWS) {
    const { page } = await signInAsAdmin(browser, gateway, '/ui', { theme, width });
    await page.setViewportSize({ width, height: HEIGHTS[width] ?? 900 });
    await takePictures(page, { ...PAGES, ...panels }, `${theme}-${width}`);
    await page.context().close();
    const visitor = await visit(browser, `${gateway.url}/ui`, { theme, width });
    await visitor.page.setViewportSize({ width, height: HEIGHTS[width] ?? 900 });
    if (chosen.length === 0 || chosen.includes('login'))
      await visitor.page.screenshot({ path: join(folder, `login-${theme}-${width}.png`) });
    await visitor.page.getByLabel(/API key/).fill(secretOf('search-team'));
    await visitor.page.keyboard.press('Enter');
    await visitor.page.getByRole('heading', { name: 'My key' }).waitFor();
    await takePictures(visitor.page, PAGES_OF_KEY, `${theme}-${width}`);
    await visitor.page.context().close();
  }
} finally {
  await Promise.all([
    browser.close(),
    gateway.close(),
    upstream.close(),
    ollama.close(),
    receiver.close(),
    brokenReceiver.close(),
  ]);
}

async function takePictures(page: Page, pages: Record<string, string>, view: string): Promise<void> {
  for (const [name, path] of Object.entries(pages)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    // Gateways give signs by this clock.
    clock.advance(5000);
    await page.goto(gateway.url + path);
    await page.waitForLoadState('networkidle');
    if (path.includes('playground')) await send(page);
    await ACTIONS[name]?.(page);
    await page.waitForLoadState('networkidle');
    await page.locator('.skeleton').first().waitFor({ state: 'hidden' });
    if (name === 'requests') {
      await openFirst(page, view);
      await page.goto(gateway.url + path);
      await page.waitForLoadState('networkidle');
    }
    await page.screenshot({ path: join(folder, `${name}-${view}.png`) });
  }
}

async function openFirst(page: Page, view: string): Promise<void> {
  await page.locator('tbody button').first().click();
  await page.getByRole('heading', { name: 'Candidates' }).waitFor();
  await page.screenshot({ path: join(folder, `request-${view}.png`) });
}

function streamOf(model: string, usage: object): string {
  const about = { id: 'chatcmpl-7', object: 'chat.completion.chunk', created: 1, model };
  const frame = (choices: object[], more: object = {}) => `data: ${JSON.stringify({ ...about, choices, ...more })}\n\n`;
  const texts = ['The', ' Danube', ', the', ' Rhine', ' and the', ' Mekong', '.'];
  const frames = texts.map((content) => frame([{ index: 0, delta: { content }, finish_reason: null }]));
  const last = frame([{ index: 0, delta: {}, finish_reason: 'stop' }]);
  return `${frames.join('')}${last}${frame([], { usage })}data: [DONE]\n\n`;
}

async function makeVideos(): Promise<void> {
  const prompts = [
    'A paper boat on a river',
    'Rain on a tin roof at night, with a lamp that swings in the wind',
    'Kites that fail to rise over the dunes',
    'A lighthouse in fog',
    'Lanterns that hang above a market, from the first light to the last',
    'A tram that climbs a hill in winter',
    'Vines that hang from a stone bridge',
  ];
  for (const [index, prompt] of prompts.entries()) {
    const client = videoClient(gateway, secretOf(KEYS[index % KEYS.length] ?? ''));
    const { port } = index % 4 === 3 ? brokenReceiver : receiver;
    const callback_url = `https://127.0.0.1:${port}/hooks/${index}`;
    const { id } = await client.create({ prompt, callback_url, duration: 2 + index, seed: index });
    if (prompt.includes('hang')) await passTime(gateway, 2000);
    else await client.until(id, prompt.includes('fail') ? 'failed' : 'completed');
    if (prompt.startsWith('Vines')) await client.send('POST', `/v1/videos/${id}/cancel`, { abandon: true });
  }
  await eventually(gateway, () => receiver.received.length >= 4 && brokenReceiver.received.length >= 1);
}

/** Pages with something opened whose id is made here. */
async function panelsOf(): Promise<Record<string, string>> {
  const ask = adminOf(gateway);
  const [keys, videos, deliveries] = await Promise.all([
    ask('GET', '/keys?name=search-team'),
    ask('GET', '/videos?status=completed&limit=1'),
    ask('GET', '/deliveries?state=pending&limit=1'),
  ]);
  return {
    key: `/ui/keys?open=${keys.data[0].hash}`,
    video: `/ui/videos?open=${videos.data[0].id}`,
    webhook: `/ui/webhooks?open=${deliveries.data[0].task_id}`,
    'ask-for-a-video': '/ui/videos',
  };
}

async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Fill in an example' }).click();
  await page.getByLabel('User').press('Control+Enter');
  await page
    .getByText(/\d out/)
    .first()
    .waitFor();
  await page.waitForLoadState('networkidle');
}

async function ask(turn: number): Promise<void> {
  const key = secretOf(KEYS[(turn * 3) % KEYS.length] ?? '');
  const model = MODELS[(turn * 7) % MODELS.length];
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(turn % 5 !== 0 && { 'x-session-id': CONVERSATIONS[turn % CONVERSATIONS.length] }),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Is this a picture?' }] }),
  });
  // Those that fail are among what the pages show.
  await response.arrayBuffer();
}
