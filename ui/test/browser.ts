/** A gateway with its pages, and a real Chromium that looks at them and reports every fault. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Json } from '../../src/core/json/json.ts';
import { createPages } from '../../src/http/ui/pages.ts';
import { KEY, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../test/gateway/harness.ts';
import { closeAfterTest, sharedBrowser } from './windows.ts';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** No optimizing compilers, and few collections of garbage. */
const ENGINE_OF_SHORT_PAGES = '--js-flags=--no-opt --no-maglev --min-semi-space-size=16';

/** Longest wait for a condition, on a busy machine. */
const WAIT_MS = 45_000;

/** Runs in the page. */
const POLICY_REPORTER = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample);
});`;

export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export interface Visit {
  page: Page;
  /** Errors on the console, reports of the policy, requests to other origins, and exceptions. */
  faults: string[];
}

/**
 * Pages of tests live for seconds, in which optimizing compilers give nothing back: they take a fifth of all processor time.
 * What measures time or processor time has a browser for itself, and the engine as users have it.
 */
export function openBrowser({ isMeasured = false } = {}): Promise<Browser> {
  return isMeasured ? launch() : sharedBrowser(() => launch(ENGINE_OF_SHORT_PAGES));
}

function launch(...flags: string[]): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...flags];
  return chromium.launch({ executablePath: CHROMIUM, args });
}

export function startGatewayWithPages(yaml = '', options: TestGatewayOptions = {}): Promise<TestGateway> {
  return startTestGateway(yaml, { ...options, pages: createPages() });
}

export const TOKEN = 'an-admin-token-of-32-characters-0';

/** With an admin token, and some requests of its key. */
export async function startGatewayForOperators(yaml = ''): Promise<TestGateway> {
  const gateway = await startGatewayWithPages(`admin: { token: ${TOKEN}, port: 0 }\n${yaml}`);
  for (const model of ['sandbox/echo', 'sandbox/echo', 'sandbox/tools']) await ask(gateway, KEY, model);
  return gateway;
}

export function ask(
  { url }: Pick<TestGateway, 'url'>,
  key: string,
  model = 'sandbox/echo',
  more: Record<string, string> = {},
  content = 'Hello',
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
}

/** In a session of its own, which is opened as the form of the login does it. */
export function signInAsAdmin(
  browser: Browser,
  { url }: Pick<TestGateway, 'url'>,
  path = '/ui',
  options: VisitOptions = {},
): Promise<Visit> {
  return signIn(browser, url + path, { token: TOKEN }, options);
}

export function signInWithKey(
  browser: Browser,
  { url }: Pick<TestGateway, 'url'>,
  key: string,
  path = '/ui',
  options: VisitOptions = {},
): Promise<Visit> {
  return signIn(browser, url + path, { key }, options);
}

async function signIn(
  browser: Browser,
  address: string,
  login: { token: string } | { key: string },
  options: VisitOptions,
): Promise<Visit> {
  const visitor = await openWindow(browser, address, options);
  const { page } = visitor;
  const { origin } = new URL(address);
  const response = await page.request.post(`${origin}/ui/session`, {
    headers: { origin, 'x-polygate-ui': '1' },
    data: login,
  });
  assert.equal(response.status(), 201, await response.text());
  await page.goto(address);
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  return visitor;
}

/** Asks the admin API; bodies are JSON. Throws for a refusal. */
export function adminOf({ adminUrl }: TestGateway): (method: string, path: string, body?: object) => Promise<Json> {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${adminUrl}/admin/v1${path}`, sent);
    const text = await response.text();
    assert.ok(response.ok, text);
    return JSON.parse(text);
  };
}

interface VisitOptions {
  theme?: Theme;
  width?: number;
  /** Time zone of the browser. */
  zone?: string;
  /** Whether things move; by default they do not. */
  isMoving?: boolean;
}

/** A window of its own, without cookies. */
export async function visit(browser: Browser, address: string, options: VisitOptions = {}): Promise<Visit> {
  const visitor = await openWindow(browser, address, options);
  await visitor.page.goto(address);
  return visitor;
}

/** Before it has a page. */
async function openWindow(
  browser: Browser,
  address: string,
  { theme = 'light', width = 1280, zone, isMoving = false }: VisitOptions,
): Promise<Visit> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height: 900 },
    reducedMotion: isMoving ? 'no-preference' : 'reduce',
    ...(zone && { timezoneId: zone }),
  });
  closeAfterTest(context);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const faults: string[] = [];
  const { origin } = new URL(address);
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== origin) faults.push(`other origin: ${url.href}`);
  });
  await page.addInitScript(POLICY_REPORTER);
  return { page, faults };
}

/** Without the option the size of what can be clicked is not checked. */
const ALL_RULES = { rules: { 'target-size': { enabled: true } } };

/** The page must have no fault, and no violation of the rules of accessibility, or of those that are named. */
export async function assertSound({ page, faults }: Visit, rules?: readonly string[]): Promise<void> {
  // Once in a document, and only in those that are checked: their text is long.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(`{ ${axe} }`);
  const found = await page.evaluate<Violation[]>(`(async () => {
    // Of the rules that run, one needs what is loaded for it, and only for media; for others that takes a third of the time.
    const preload = document.querySelector('video, audio') !== null;
    const options = { ...${JSON.stringify(rules ? { runOnly: rules } : ALL_RULES)}, resultTypes: ['violations'], preload };
    return (await window.axe.run(document, options)).violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) }));
  })()`);
  const violations = found.map(({ id, html }) => `${id}: ${html.join(' ')}`.slice(0, 600));
  assert.deepEqual(violations, []);
  assert.deepEqual(faults, []);
}

interface Violation {
  id: string;
  html: string[];
}

/** Rows of the file that an action saves; no cell may have a comma. */
export async function downloadedRows(page: Page, save: () => Promise<void>): Promise<Json[]> {
  const [file] = await Promise.all([page.waitForEvent('download'), save()]);
  const [head = '', ...lines] = readFileSync(await file.path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  const names = head.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [names[index], cell])));
}

const SETTLED_MS = 10_000;
const LOOK_INTERVAL_MS = 100;

/**
 * What is read once it is right, or else in the end. A page that waits for an expression itself evaluates it again later, which
 * the policy reports.
 */
export async function settled<T>(read: () => Promise<T>, isRight: (value: T) => boolean): Promise<T> {
  let value = await read();
  for (let waited = 0; !isRight(value) && waited < SETTLED_MS; waited += LOOK_INTERVAL_MS) {
    await pause(LOOK_INTERVAL_MS);
    value = await read();
  }
  return value;
}

/** Nothing of the page is beside the window, once tables know that they have to scroll. */
export async function assertFits(page: Page): Promise<void> {
  const excess = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  const wide = await settled(excess, (pixels) => pixels <= 0);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
}
