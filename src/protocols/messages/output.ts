/** Requested output and service tier of a messages body; includes thinking and web searches. */

import type { Json } from '../../core/json/json.ts';
import { largestFigure, type ProviderTools, type RequestedOutput } from '../../core/output.ts';
import { tierWithRegion } from '../../core/tier-names.ts';
import { tierName } from '../service-tier.ts';
import { definitionsIn, isWebSearch } from './tool-decoder.ts';

const MIN_BUDGET_TOKENS = 1024;

export function outputOf({ max_tokens, tools, messages }: Json): RequestedOutput {
  const limit = largestFigure([max_tokens]);
  const listed = Array.isArray(tools) ? tools.filter(isWebSearch) : [];
  const searches = searchesOf(listed.length === 0 ? [] : [...listed, ...searchesDefinedIn(messages)]);
  return {
    ...(limit !== undefined && { limit }),
    ...(searches !== undefined && { searches }),
    answers: 1,
    thinking: 0,
  };
}

function searchesDefinedIn(messages: Json): Json[] {
  return Array.from(definitionsIn(messages), ([definition]) => definition).filter(isWebSearch);
}

/** Undefined unless each of the tools has a limit. */
function searchesOf(tools: readonly Json[]): number | undefined {
  const limits = tools.flatMap(({ max_uses }) => largestFigure([max_uses]) ?? []);
  return tools.length === 0 || limits.length < tools.length ? undefined : limits.reduce((sum, one) => sum + one, 0);
}

export function providerTools(body: Json): ProviderTools {
  const runsCode = body.container || hasTool(body, (tool) => isVersionOf('code_execution', tool));
  return { containers: runsCode ? containerSizeOf(body) : 0 };
}

/** Code runs for nothing beside a search or a fetch that filters its results by code, as those of 2026-02-09 and later do. */
export function containerSizeOf(body: Json): number {
  const isFree = (tool: Json): boolean =>
    isVersionOf('web_search', tool, FILTERS) || isVersionOf('web_fetch', tool, FILTERS);
  return hasTool(body, isFree) ? 0 : 1;
}

/** Whether the list has such a tool, or the conversation defines it. */
function hasTool({ tools, messages }: Json, is: (tool: Json) => boolean): boolean {
  if (Array.isArray(tools) && tools.some(is)) return true;
  for (const [definition] of definitionsIn(messages)) if (is(definition)) return true;
  return false;
}

const FILTERS = 20260209;

function isVersionOf(name: string, tool: Json, first = 0): boolean {
  const type = tool?.type;
  return typeof type === 'string' && type.startsWith(`${name}_`) && Number(type.slice(name.length + 1)) >= first;
}

/** Fast mode, whose price is that of no service tier, else the service tier; and whether in one region alone. */
export function tierOf({ speed, service_tier: tier, inference_geo: place }: Json): string | undefined {
  const isInRegion = typeof place === 'string' ? isRegion(place) : Boolean(place);
  return tierWithRegion(speed === 'fast' ? 'fast' : tierName(tier), isInRegion);
}

/** Values of `inference_geo` for all regions together, which costs the standard price; the second one is that of older models. */
const ALL_REGIONS = ['', 'global', 'not_available'];

export function isRegion(place: string): boolean {
  return !ALL_REGIONS.includes(place);
}

/** Sets `max_tokens` in place. Lowers the thinking budget below it, or removes thinking that does not fit. */
export function limitOutput(body: Json, tokens: number): void {
  body.max_tokens = tokens;
  const budget = body.thinking?.budget_tokens;
  if (typeof budget !== 'number' || budget < tokens) return;
  if (tokens > MIN_BUDGET_TOKENS) body.thinking = { ...body.thinking, budget_tokens: tokens - 1 };
  else delete body.thinking;
}
