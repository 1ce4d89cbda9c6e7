/** Recorded traffic: the folder's files as records, and which of them this suite can judge. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, read } from '../../src/core/json/json.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import type { FramedStream } from './framing.ts';

/** Protocols of upstreams that clients speak too. */
export type UpstreamId = ProtocolId | 'responses';

/** Protocols of recordings. */
export type RecordedId = UpstreamId | 'converse';

export interface Recording<Protocol = RecordedId> {
  id: string;
  scenario: string;
  protocol: Protocol;
  provider: string;
  model: string;
  /** The client's JSON; absent where only the answer was recorded, and where no client speaks the protocol. */
  request?: Json;
  response: { status: number; body?: Json; frames?: string[] };
}

export interface Corpus {
  recordings: Recording[];
  /** Streams of any protocol that were recorded as bytes in a framing of their own. */
  framed: FramedStream[];
  /** Records of protocols or endpoints that are not judged yet, counted by protocol. */
  uncovered: Record<string, number>;
}

const PROTOCOLS: Record<string, RecordedId> = {
  'bedrock-converse': 'converse',
  'openai-chat': 'chat',
  'anthropic-messages': 'messages',
  'gemini-generate': 'generate',
  'openai-responses': 'responses',
};

/** Undefined when there is no such folder. Numbers of the records keep their digits. */
export function readCorpus(folder: string): Corpus | undefined {
  if (!existsSync(folder)) return undefined;
  const corpus: Corpus = { recordings: [], framed: [], uncovered: {} };
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.jsonl')) continue;
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      const record = line.trim() === '' ? undefined : read(line);
      if (record?.response === undefined || !['recording', 'response-only'].includes(record.kind)) continue;
      const framed = framedStreamOf(record);
      if (framed) corpus.framed.push(framed);
      const recording = recordingOf(record);
      if (recording) corpus.recordings.push(recording);
      else corpus.uncovered[record.protocol] = (corpus.uncovered[record.protocol] ?? 0) + 1;
    }
  }
  return corpus;
}

function recordingOf(record: Json): Recording | undefined {
  const protocol = PROTOCOLS[record.protocol];
  if (!protocol) return undefined;
  const { status, body, stream, stream_format: format, body_text: text } = record.response;
  return {
    id: record.id,
    scenario: record.scenario,
    protocol,
    provider: record.provider,
    model: record.model ?? 'model',
    request: protocol === 'converse' ? undefined : record.request?.body,
    response: { status, body: body ?? text, frames: stream && framesOf(stream, format) },
  };
}

function framedStreamOf({ id, scenario, response }: Json): FramedStream | undefined {
  if (response.raw_base64 === undefined) return undefined;
  return { id, scenario, bytes: Buffer.from(response.raw_base64, 'base64'), messages: response.stream };
}

/** An array of a streamed Gemini answer as the frames that `alt=sse` would have given. */
function framesOf(stream: Json, format: string): string[] {
  if (format.startsWith('aws-eventstream')) return stream.map(eventOf);
  if (format !== 'json-array') return stream;
  const elements: Json[] = read(Array.isArray(stream) ? stream.join('') : stream);
  return elements.map((element) => `data: ${JSON.stringify(element)}\r\n\r\n`);
}

/** A message of an AWS event stream, which some recorders kept as its payload under its type, as the framer of the gateway gives it. */
function eventOf({ headers, payload, ...bare }: Json): string {
  const [[type, data] = ['', {}]] = headers ? [[headers[':event-type'], payload]] : Object.entries(bare);
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
