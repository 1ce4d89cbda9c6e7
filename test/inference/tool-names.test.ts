/** Namespaces of tools at upstreams without them, and their way back. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { CallPart, ChatRequest, Tool } from '../../src/core/chat.ts';
import type { ToolName } from '../../src/core/tool-name.ts';
import { toolKey } from '../../src/core/tools.ts';
import { renameTools, restoreName } from '../../src/inference/request/tool-names.ts';

const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/;

function requestWith(tools: Tool[], more: Partial<ChatRequest> = {}): ChatRequest {
  return { stream: false, turns: [], tools, dropped: [], ...more };
}

function callOf({ name, namespace }: ToolName): CallPart {
  return { type: 'call', id: 'call_1', name, args: '{}', ...(namespace !== undefined && { namespace }) };
}

describe('namespaces', () => {
  test('a namespace becomes the beginning of the name, and the call gets both back', () => {
    const request = requestWith([{ name: 'search', namespace: 'mcp__docs' }, { name: 'search' }]);
    const names = renameTools(request, ACCEPTED);
    assert.deepEqual(request.tools, [{ name: 'mcp__docs__search' }, { name: 'search' }]);
    const started = {
      type: 'part-start',
      index: 0,
      candidate: 0,
      part: callOf({ name: 'mcp__docs__search' }),
    } as const;
    assert.deepEqual(restoreName(started, names), {
      ...started,
      part: callOf({ name: 'search', namespace: 'mcp__docs' }),
    });
  });

  test('calls, results, a named choice and allowed tools have the same name as the tool', () => {
    const tool = { name: 'search', namespace: 'docs' };
    const request = requestWith([{ ...tool }], {
      turns: [
        { role: 'assistant', parts: [callOf(tool)] },
        { role: 'user', parts: [{ type: 'result', callId: 'call_1', ...tool, parts: [] }] },
      ],
      toolChoice: { type: 'allowed', tools: [{ ...tool }], required: true },
    });
    renameTools(request, ACCEPTED);
    assert.equal(request.tools[0]?.name, 'docs__search');
    assert.deepEqual(request.toolChoice, { type: 'allowed', tools: [{ name: 'docs__search' }], required: true });
    assert.deepEqual(request.turns[0]?.parts, [callOf({ name: 'docs__search' })]);
    assert.deepEqual(request.turns[1]?.parts, [{ type: 'result', callId: 'call_1', name: 'docs__search', parts: [] }]);
    const named = requestWith([{ ...tool }], { toolChoice: { type: 'named', ...tool } });
    renameTools(named, ACCEPTED);
    assert.deepEqual(named.toolChoice, { type: 'named', name: 'docs__search' });
  });

  test('a plain tool keeps its name, also when a namespace and a name make the same one', () => {
    const tools = [{ name: 'b', namespace: 'a' }, { name: 'a__b' }];
    const request = requestWith(tools.map((tool) => ({ ...tool })));
    renameTools(request, ACCEPTED);
    assert.equal(request.tools[1]?.name, 'a__b');
    assert.match(request.tools[0]?.name ?? '', /^a__b_[0-9a-f]{8}$/);
  });

  test('the first tool of a namespace tells its description', () => {
    const tools = ['one', 'two'].map((name) => ({
      name,
      description: name,
      namespace: 'n',
      namespaceDescription: 'N.',
    }));
    const request = requestWith(tools);
    renameTools(request, ACCEPTED);
    assert.deepEqual(request.tools, [
      { name: 'n__one', description: 'one\n\nAbout all tools whose names begin with n__: N.' },
      { name: 'n__two', description: 'two' },
    ]);
  });

  test('names of any tools are accepted, different, and lead back to the tool', () => {
    const word = fc.oneof(fc.constantFrom('a', 'b', 'a__b', 'b__c', 'x'.repeat(60)), fc.string({ minLength: 1 }));
    const tool = fc.record({ name: word, namespace: fc.option(word, { nil: undefined }) }, { requiredKeys: ['name'] });
    fc.assert(
      fc.property(fc.uniqueArray(tool, { selector: toolKey, maxLength: 8 }), (tools) => {
        const given = tools.map(({ name, namespace }) => ({ name, ...(namespace !== undefined && { namespace }) }));
        const request = requestWith(structuredClone(given));
        const names = renameTools(request, ACCEPTED);
        const upstream = request.tools.map((renamed) => renamed.name);
        assert.equal(new Set(upstream).size, tools.length);
        for (const name of upstream) assert.match(name, ACCEPTED);
        const back = upstream.map((name) => names.get(toolKey({ name })) ?? { name });
        assert.deepEqual(back, given);
      }),
    );
  });
});
