/** Validator of Converse requests, written from the reference of the Bedrock Runtime API: what that refuses. */

import { isObject, type Json } from '../../../src/core/json/json.ts';

const MEMBERS = [
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'guardrailConfig',
  'outputConfig',
  'performanceConfig',
  'promptVariables',
  'requestMetadata',
  'serviceTier',
];
const BLOCKS = [
  'text',
  'image',
  'document',
  'video',
  'audio',
  'toolUse',
  'toolResult',
  'reasoningContent',
  'cachePoint',
  'guardContent',
  'citationsContent',
  'searchResult',
];
const IN_RESULT = ['text', 'json', 'image', 'document', 'video', 'searchResult'];
const FORMATS: Record<string, readonly string[]> = {
  image: ['png', 'jpeg', 'gif', 'webp'],
  document: ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'],
  video: ['mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv', 'three_gp'],
  audio: [
    'mp3',
    'opus',
    'wav',
    'aac',
    'flac',
    'mp4',
    'ogg',
    'mkv',
    'mka',
    'x-aac',
    'm4a',
    'mpeg',
    'mpga',
    'pcm',
    'webm',
  ],
};
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const DOCUMENT_NAME = /^(?!.*\s\s)[a-zA-Z0-9\s\-()[\]]{1,200}$/;
const MAX_CACHE_POINTS = 4;

export function problemsOfConverse(body: Json): string[] {
  const problems: string[] = [];
  const report = (path: string, problem: string): void => void problems.push(`${path} ${problem}`);
  for (const name of Object.keys(body)) if (!MEMBERS.includes(name)) report(name, 'is not known');
  const messages: Json[] = body.messages ?? [];
  if (messages.length === 0) report('messages', 'is empty');
  if (messages[0]?.role !== 'user') report('messages', 'does not begin with the user');
  let asked: string[] = [];
  let hasCalls = false;
  for (const [index, { role, content }] of messages.entries()) {
    const path = `messages[${index}]`;
    if (role !== 'user' && role !== 'assistant') report(path, `has the role ${role}`);
    if (messages[index - 1]?.role === role) report(path, 'has the role of the one before');
    if (!Array.isArray(content) || content.length === 0) report(path, 'is empty');
    for (const [position, block] of (content ?? []).entries())
      checkBlock(block, `${path}.content[${position}]`, BLOCKS, report);
    const results: string[] = content.flatMap(({ toolResult }: Json) => toolResult?.toolUseId ?? []);
    const uses: string[] = content.flatMap(({ toolUse }: Json) => toolUse?.toolUseId ?? []);
    hasCalls ||= uses.length > 0 || results.length > 0;
    if ([...results].sort().join() !== [...asked].sort().join()) report(path, `answers ${results} to ${asked}`);
    if (new Set(uses).size < uses.length) report(path, 'has two calls of one id');
    if (role === 'user' && uses.length > 0) report(path, 'calls');
    asked = uses;
    if (content.some(({ document }: Json) => document) && !content.some(({ text }: Json) => text !== undefined))
      report(path, 'has a document without a text');
  }
  if (asked.length > 0) report('messages', 'end with calls');
  for (const [index, block] of (body.system ?? []).entries())
    checkBlock(block, `system[${index}]`, ['text', 'cachePoint', 'guardContent'], report);
  checkNames(messages, report);
  checkTools(body.toolConfig, hasCalls, report);
  checkConfig(body, report);
  const points = [...(body.system ?? []), ...messages.flatMap(({ content }) => content)].filter(
    (block) => block.cachePoint,
  );
  if (points.length > MAX_CACHE_POINTS) report('cachePoint', `is there ${points.length} times`);
  return problems;
}

type Report = (path: string, problem: string) => void;

/** A block is a union: exactly one member. */
function checkBlock(block: Json, path: string, allowed: readonly string[], report: Report): void {
  const names = isObject(block) ? Object.keys(block) : [];
  const [name = ''] = names;
  if (names.length !== 1 || !allowed.includes(name)) {
    report(path, `has the members ${names}`);
    return;
  }
  const value = block[name];
  if (name === 'text' && (typeof value !== 'string' || value.trim() === '')) report(path, 'is blank');
  if (name in FORMATS) checkMedia(name, value, path, report);
  if (name === 'cachePoint' && value.type !== 'default') report(path, 'has no type');
  if (name === 'toolUse') {
    if (!NAME.test(value.name) || !NAME.test(value.toolUseId)) report(path, 'has a name or id that is refused');
    if (!isObject(value.input)) report(path, 'has no object for its input');
  }
  if (name === 'toolResult') {
    if (!NAME.test(value.toolUseId)) report(path, 'has an id that is refused');
    if (value.status !== undefined && !['success', 'error'].includes(value.status)) report(path, 'has a bad status');
    if (!Array.isArray(value.content) || value.content.length === 0) report(path, 'is empty');
    for (const [index, inner] of (value.content ?? []).entries())
      checkBlock(inner, `${path}[${index}]`, IN_RESULT, report);
  }
  if (name === 'reasoningContent') {
    const { reasoningText, redactedContent } = value;
    if ((reasoningText === undefined) === (redactedContent === undefined)) report(path, 'is no union');
    if (reasoningText && !reasoningText.signature) report(path, 'is not signed');
  }
}

function checkMedia(kind: string, { format, name, source }: Json, path: string, report: Report): void {
  if (!FORMATS[kind]?.includes(format)) report(path, `has the format ${format}`);
  const [place, ...more] = Object.keys(source ?? {});
  if (more.length > 0 || !['bytes', 's3Location', 'text', 'content'].includes(place ?? ''))
    report(path, 'has a bad source');
  if (place === 'bytes' && !/^[A-Za-z0-9+/]+={0,2}$/.test(source.bytes)) report(path, 'has bytes that are not base64');
  if (kind === 'document' && !DOCUMENT_NAME.test(name)) report(path, `has the name ${name}`);
}

function checkNames(messages: Json[], report: Report): void {
  const names: string[] = messages.flatMap(({ content }) =>
    content.flatMap(({ document }: Json) => document?.name ?? []),
  );
  if (new Set(names).size < names.length) report('messages', 'have two documents of one name');
}

function checkTools(config: Json, hasCalls: boolean, report: Report): void {
  if (config === undefined) {
    if (hasCalls) report('toolConfig', 'is missing beside calls');
    return;
  }
  const tools: Json[] = config.tools ?? [];
  if (tools.length === 0) report('toolConfig.tools', 'is empty');
  for (const [index, tool] of tools.entries()) {
    const path = `toolConfig.tools[${index}]`;
    const { toolSpec } = tool;
    if (Object.keys(tool).length !== 1) report(path, 'is no union');
    if (!toolSpec) continue;
    if (!NAME.test(toolSpec.name)) report(path, `has the name ${toolSpec.name}`);
    if (toolSpec.description === '') report(path, 'has an empty description');
    if (toolSpec.inputSchema?.json?.type !== 'object') report(path, 'has parameters that are no object');
  }
  const names = tools.map(({ toolSpec }) => toolSpec?.name).filter((name) => name !== undefined);
  if (new Set(names).size < names.length) report('toolConfig.tools', 'has two tools of one name');
  const { toolChoice } = config;
  if (toolChoice === undefined) return;
  const [way = ''] = Object.keys(toolChoice);
  if (Object.keys(toolChoice).length !== 1 || !['auto', 'any', 'tool'].includes(way))
    report('toolChoice', 'is no union');
  if (way === 'tool' && !names.includes(toolChoice.tool.name)) report('toolChoice', 'names a tool that is not there');
}

function checkConfig({ inferenceConfig = {}, serviceTier, outputConfig }: Json, report: Report): void {
  const { maxTokens, temperature, topP, stopSequences, ...unknown } = inferenceConfig;
  for (const name of Object.keys(unknown)) report(`inferenceConfig.${name}`, 'is not known');
  if (maxTokens !== undefined && !(maxTokens >= 1)) report('maxTokens', 'is too small');
  for (const [name, value] of Object.entries({ temperature, topP }))
    if (value !== undefined && !(value >= 0 && value <= 1)) report(name, 'is out of range');
  if (stopSequences?.some((text: Json) => typeof text !== 'string' || text === ''))
    report('stopSequences', 'has an empty one');
  if (serviceTier && !['priority', 'default', 'flex', 'reserved'].includes(serviceTier.type))
    report('serviceTier', 'is not known');
  const format = outputConfig?.textFormat;
  if (!format) return;
  if (format.type !== 'json_schema') report('outputConfig', 'has another type');
  try {
    JSON.parse(format.structure.jsonSchema.schema);
  } catch {
    report('outputConfig', 'has a schema that is no text of JSON');
  }
}
