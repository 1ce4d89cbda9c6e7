/** Settings of a new key as a body of the API, as a command and as a call with curl. */

import { quoted } from '../../shell.ts';

export interface NewKey {
  name: string;
  owner: string;
  /** Each as `name=value`, with commas or spaces in between. */
  tags: string;
  models: string;
  monthly: string;
  daily: string;
  rpm: string;
  tpm: string;
  concurrent: string;
  expires: string;
  readOnly: boolean;
}

export const NO_KEY: NewKey = {
  name: '',
  owner: '',
  tags: '',
  models: '',
  monthly: '',
  daily: '',
  rpm: '',
  tpm: '',
  concurrent: '',
  expires: '',
  readOnly: false,
};

export function bodyOfKey(key: NewKey): Record<string, unknown> {
  const limits = present({
    requests_per_minute: numberOf(key.rpm),
    tokens_per_minute: numberOf(key.tpm),
    concurrent_requests: numberOf(key.concurrent),
  });
  const budgets = present({ day: key.daily || undefined, month: key.monthly || undefined });
  return present({
    name: key.name,
    owner: key.owner || undefined,
    tags: tagsOf(key.tags),
    models: listOf(key.models),
    expires_at: key.expires || undefined,
    read_only: key.readOnly || undefined,
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    budgets: Object.keys(budgets).length > 0 ? budgets : undefined,
  });
}

export function commandOfKey(key: NewKey): string {
  const models = listOf(key.models);
  const options = [
    ['--name', key.name || 'NAME'],
    ['--owner', key.owner],
    ['--models', models?.join(',')],
    ['--budget', key.daily && `day=${key.daily}`],
    ['--budget', key.monthly && `month=${key.monthly}`],
    ['--rpm', key.rpm],
    ['--tpm', key.tpm],
    ['--concurrent', key.concurrent],
    ['--expires', key.expires],
  ].flatMap(([option, value]) => (value ? [`${option} ${quoted(value)}`] : []));
  const tags = listOf(key.tags);
  if (tags) options.push(`--tag ${tags.map(quoted).join(' ')}`);
  if (key.readOnly) options.push('--read-only');
  return ['polygate keys create', ...options].join(' \\\n  ');
}

export function callOfKey(key: NewKey, origin: string): string {
  return `curl ${origin}/admin/v1/keys \\
  -H "Authorization: Bearer $POLYGATE_ADMIN_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(bodyOfKey(key)))}`;
}

/** A text that is no number is sent as it is: the gateway says what is wrong with it. */
function numberOf(text: string): number | string | undefined {
  if (text === '') return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

function tagsOf(text: string): Record<string, string> | undefined {
  const tags = listOf(text)?.map((tag) => [tag.split('=', 1)[0] ?? '', tag.slice(tag.indexOf('=') + 1)] as const);
  return tags && Object.fromEntries(tags);
}

function listOf(text: string): string[] | undefined {
  const items = text.split(/[\s,]+/).filter(Boolean);
  return items.length > 0 ? items : undefined;
}

function present(facts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}
