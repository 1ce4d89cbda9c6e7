/** A test of requests with and without each field: each is carried, named as dropped, or refused by name. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../src/core/json/json.ts';
import { post } from '../gateway/harness.ts';
import { askOnce, type FieldCase, plainPath } from './field-cases.ts';
import { PROTOCOLS, type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import type { UpstreamProtocol } from './upstreams.ts';

/** What has no effect elsewhere, and why, by its path and value: `tools.strict = true`. */
export type Exceptions = readonly (readonly [why: string, what: RegExp])[];

export interface Client {
  protocol: UpstreamProtocol;
  /** The protocols of the upstreams; all if absent. */
  wires?: readonly UpstreamProtocol[];
  /** What every upstream answers; one text in its protocol if absent. */
  answer?: Json;
  /** The model as the configuration has it. */
  model?: string;
  headers: Record<string, string>;
  /** Path of a request to a model. */
  path(model: string): string;
  /** The body of a request to a model. */
  body(given: Json, model: string): Json;
  /** A body as an upstream of the same protocol gets it, where that is not the client's. */
  arrives?(body: Json): Json;
  cases(): Iterable<FieldCase>;
  /** Fewer cases mean that the types were not read. */
  leastCases: number;
  withoutEffect: Exceptions;
  /** Names in the header, by the fields that they stand for apart from those below them. */
  aliases?: Record<string, RegExp>;
}

interface Outcome {
  refused?: Json;
  dropped: string[];
  sent?: string;
}

/** `name` is that of the requests, for people. */
export function testFields(name: string, client: Client): void {
  const used = new Set<Exceptions[number]>();

  const { protocol, wires = PROTOCOLS, answer, model } = client;
  for (const wire of wires) {
    describe(`fields of ${name} over ${wire}`, () => {
      let gateway: ProvidedGateway;
      const outcomeOf = askOnce(ask);

      before(async () => {
        gateway = await startProvidedGateway([{ text: 'Hello' }], {
          ...(answer && { answer }),
          ...(model && { model }),
        });
      });
      after(() => gateway.close());

      async function ask(given: Json): Promise<Outcome> {
        const asked = `${wire}/m`;
        const response = await post(gateway.url + client.path(asked), client.body(given, asked), client.headers);
        const answer: Json = await response.json();
        const dropped = (response.headers.get('x-polygate-dropped') ?? '').split(', ').filter(Boolean);
        if ([400, 404].includes(response.status)) return { refused: answer.error, dropped };
        assert.equal(response.status, 200, JSON.stringify([given, answer]));
        return { dropped, sent: gateway.lastCall(wire)?.bytes.toString() ?? '' };
      }

      test('no field is lost in silence', { timeout: 600_000 }, async (context) => {
        const lost = new Set<string>();
        let count = 0;
        for (const one of client.cases()) {
          count += 1;
          const given = await outcomeOf(one.given);
          if (wire === protocol) {
            const { arrives = (body: Json) => body } = client;
            const arrived = given.sent && JSON.parse(given.sent);
            const asked: Json = JSON.parse(JSON.stringify(client.body(one.given, 'm')));
            if (!isDeepStrictEqual(arrived, arrives(asked)))
              lost.add(`changed: ${describeCase(one)}: ${JSON.stringify(given)}`);
            continue;
          }
          if (given.refused) {
            if (!isUnsupported(given.refused))
              lost.add(`refused: ${describeCase(one)}: ${JSON.stringify(given.refused)}`);
            continue;
          }
          const other = await outcomeOf(one.other);
          if (given.sent !== other.sent) continue;
          if (given.dropped.some((name) => !other.dropped.includes(name) || isAbout(name, one, client))) continue;
          const place = `${plainPath(one.path)} = ${JSON.stringify(one.value)}`;
          const reason = client.withoutEffect.find(([, what]) => what.test(place));
          if (reason) used.add(reason);
          else lost.add(describeCase(one));
        }
        context.diagnostic(`${count} cases`);
        assert.deepEqual([...lost], []);
        assert.ok(count >= client.leastCases);
      });
    });
  }

  test(`every exception for ${name} is one`, () => {
    assert.deepEqual(
      client.withoutEffect.filter((reason) => !used.has(reason)),
      [],
    );
  });
}

function describeCase({ path, value }: FieldCase): string {
  return `${path} = ${JSON.stringify(value)}`;
}

/** Whether the error says that the model takes no such thing, not that the case is wrong. Errors of messages have no code for that. */
function isUnsupported(error: Json): boolean {
  return /unsupported_|only works? with|takes only|not known here|known only to/i.test(JSON.stringify(error));
}

/** Whether the name of something that was dropped is that of the member, of an object around it, or of its whole item or tool. */
function isAbout(name: string, { path, given }: FieldCase, { aliases = {} }: Client): boolean {
  const plain = plainPath(path);
  if (plain === name || plain.startsWith(`${name}.`) || plain.split('.').includes(name)) return true;
  if (aliases[name]?.test(plain)) return true;
  // A name may stand for a field in all its places.
  if (plain.split('.').includes(name.slice(name.lastIndexOf('.') + 1))) return true;
  const at = name.lastIndexOf('.');
  const [list, type] = [name.slice(0, at), name.slice(at + 1)];
  return at > 0 && plain.startsWith(`${list}.`) && JSON.stringify(given).includes(`"type":"${type}`);
}
