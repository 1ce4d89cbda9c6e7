/** Rules are found by globs alone, later ones win, and unknown ids have none. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogModel } from '../../src/catalog/entry.ts';
import { isReachable, rulesFor } from '../../src/catalog/rules.ts';
import { matchesGlob } from '../../src/core/glob.ts';

test('globs', () => {
  assert.ok(matchesGlob('gpt-5.*', 'gpt-5.1'));
  assert.ok(!matchesGlob('gpt-5.*', 'gpt-5-1'), 'a dot is a dot');
  assert.ok(matchesGlob('*-tts*', 'gpt-4o-mini-tts-2025'));
  assert.ok(matchesGlob('gpt-4', 'gpt-4') && !matchesGlob('gpt-4', 'gpt-4o'), 'without a star the whole id');
  assert.ok(matchesGlob('a*b*c', 'abc') && !matchesGlob('a*b*c', 'acb'));
});

test('an id nobody knows, or the same id elsewhere, has the newest rules', () => {
  assert.deepEqual(rulesFor('openai', 'gpt-99-turbo'), {});
  assert.deepEqual(rulesFor('openrouter', 'anthropic/claude-opus-4.5'), {});
  assert.deepEqual(rulesFor('nowhere', 'gpt-4o'), {});
  assert.deepEqual(rulesFor('constructor', 'name'), {});
});

test('the last matching entry wins, field by field', () => {
  const older = rulesFor('openai', 'gpt-5');
  const newer = rulesFor('openai', 'gpt-5.6-sol');
  assert.equal(older.sampling, 'never');
  assert.equal(newer.sampling, 'without-reasoning');
  assert.equal(newer.tokenField, 'max_completion_tokens', 'what the later entry leaves out stays');
  assert.deepEqual(newer.efforts, ['none', 'low', 'medium', 'high', 'xhigh', 'max']);
  assert.equal(newer.toolsNeedNoReasoning, true);
  assert.equal(rulesFor('openai', 'gpt-5.5').toolsNeedNoReasoning, false);
});

test('openai', () => {
  assert.equal(rulesFor('openai', 'gpt-4o').systemRole, 'system');
  assert.equal(rulesFor('openai', 'gpt-5-chat-latest').reasoning, 'none');
  assert.equal(rulesFor('openai', 'gpt-5.1').efforts?.includes('xhigh'), false);
  assert.equal(rulesFor('openai', 'o3').stop, false);
  assert.equal(rulesFor('openai', 'o1').stop, undefined);
  assert.equal(rulesFor('openai', 'gpt-4o-search-preview').sampling, 'never');
  assert.equal(rulesFor('openai', 'gpt-6-luna').sampling, 'without-reasoning');
  assert.equal(rulesFor('openai', 'gpt-6').sampling, 'never');
  assert.equal(rulesFor('openai', 'gpt-5.6').cacheMarks, 'prompt_cache_breakpoint');
  assert.equal(rulesFor('openai', 'gpt-5.5').cacheMarks, undefined);
});

test('anthropic', () => {
  const table = {
    'claude-sonnet-5-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: false, forcedChoice: false },
    'claude-opus-5-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: false, forcedChoice: false },
    'claude-haiku-5-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: true, forcedChoice: true },
    'claude-fable-5-2': { sampling: 'never', reasoning: 'adaptive', reasoningOff: false, forcedChoice: false },
    'claude-fable-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: false, forcedChoice: true },
    'claude-opus-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: true, forcedChoice: true },
    'claude-sonnet-5': { sampling: 'never', reasoning: 'adaptive', reasoningOff: true, forcedChoice: true },
    'claude-opus-4-7': { sampling: 'never', reasoning: 'adaptive', reasoningOff: true, forcedChoice: true },
    'claude-sonnet-4-6': {
      sampling: 'without-reasoning',
      reasoning: 'adaptive',
      reasoningOff: true,
      forcedChoice: true,
    },
    'claude-opus-4-5-20251101': {
      sampling: 'without-reasoning',
      reasoning: 'budget',
      reasoningOff: true,
      forcedChoice: true,
    },
  };
  for (const [id, expected] of Object.entries(table)) {
    const { sampling, reasoning, reasoningOff, forcedChoice } = rulesFor('anthropic', id);
    assert.deepEqual({ sampling, reasoning, reasoningOff, forcedChoice }, expected, id);
  }
  assert.equal(rulesFor('anthropic', 'claude-haiku-4-5').maxOutput, 64000);
  assert.equal(rulesFor('anthropic', 'claude-sonnet-5').maxOutput, 128000);
});

test('google, deepseek', () => {
  assert.deepEqual(rulesFor('google', 'gemini-2.5-pro').budget, { min: 128, max: 32768 });
  assert.equal(rulesFor('google', 'gemini-2.5-pro').reasoningOff, false);
  assert.deepEqual(rulesFor('google', 'gemini-2.5-flash').budget, { min: 0, max: 24576 });
  assert.equal(rulesFor('google', 'gemini-2.5-flash').penalties, false);
  assert.equal(rulesFor('google', 'gemini-2.0-flash').schemaWithTools, false);
  assert.equal(rulesFor('google', 'gemini-3.5-flash').reasoning, 'level');
  assert.equal(rulesFor('deepseek', 'deepseek-chat').reasoningHistory, 'accepted');
  assert.equal(rulesFor('deepseek', 'deepseek-reasoner').reasoningHistory, undefined, 'what the provider says');
  assert.equal(rulesFor('deepseek', 'deepseek-v4-pro').reasoningHistory, 'required');
});

test('models of other endpoints are not reachable', () => {
  for (const id of ['computer-use-preview', 'whisper-1', 'gpt-realtime-2', 'sora-2', 'gpt-4o-transcribe']) {
    assert.equal(isReachable('openai', id), false, id);
  }
  for (const id of ['gpt-5', 'gpt-5-pro', 'gpt-audio', 'gpt-4o-mini', 'o4-mini'])
    assert.equal(isReachable('openai', id), true, id);
  assert.equal(isReachable('openrouter', 'openai/gpt-5-pro'), true);
});

test('models that only Responses has, and those that call tools only there while they reason', () => {
  const only = ['gpt-5-codex', 'gpt-5.1-codex-max', 'gpt-5.3-codex', 'gpt-5-pro', 'gpt-5.5-pro-2026-04-23', 'o3-pro'];
  for (const id of [...only, 'o4-mini-deep-research']) {
    const { protocols, reasoning } = rulesFor('openai', id);
    assert.deepEqual([protocols, reasoning], [['responses'], 'effort'], id);
  }
  assert.deepEqual(rulesFor('openai', 'gpt-5.6-sol').protocols, ['responses', 'chat']);
  for (const id of ['gpt-5', 'gpt-5.4', 'gpt-6-sol', 'o3'])
    assert.equal(rulesFor('openai', id).protocols, undefined, id);
  assert.deepEqual(rulesFor('xai', 'grok-4.20-multi-agent-0309').protocols, ['responses']);
  assert.equal(rulesFor('openrouter', 'openai/gpt-5-pro').protocols, undefined);
});

test('phases since GPT-5.3 Codex', () => {
  for (const [id, phases] of [
    ['gpt-5.3-codex', true],
    ['gpt-5.4-nano', true],
    ['gpt-6-sol', true],
    ['gpt-5.2', undefined],
  ] as const)
    assert.equal(rulesFor('openai', id).phases, phases, id);
});

test('a server that reads documents for its models accepts them, and the model is listed as it is', () => {
  const model = catalogModel('mistral', { id: 'mistral-small-latest', inputModalities: ['text', 'image'] });
  assert.deepEqual(model.rules.inputModalities, ['text', 'image', 'file']);
  assert.deepEqual(model.inputModalities, ['text', 'image']);
  const other = catalogModel('deepseek', { id: 'deepseek-v4', inputModalities: ['text'] });
  assert.deepEqual(other.rules.inputModalities, ['text']);
});
