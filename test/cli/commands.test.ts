// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { formatTable } from '../../src/cli/table.ts';
import { version } from '../../src/core/version.ts';
import { openStore } from '../../src/store/open.ts';
import { program } from './program.ts';

describe('help', () => {
  for (const command of [
    ['serve'],
    ['check'],
    ['keys'],
    ['keys', 'create'],
    ['keys', 'list'],
    ['keys', 'revoke'],
    ['models'],
    ['route'],
    ['videos', 'list'],
    ['videos', 'show'],
    ['videos', 'cancel'],
  ]) {
    test(`of ${command.join(' ')} has an example`, async (context) => {
      const { code, stdout } = await program(context).run([...command, '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Example:\n {2}polygate ${command.join(' ')}`));
    });
  }

  test('names the command that is meant', async (context) => {
    const { code, stderr } = await program(context).run(['serv']);
    assert.equal(code, 1);
    assert.match(stderr, /Did you mean serve\?/);
  });
});

describe('check', () => {
  test('shows the whole configuration with secrets masked', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'providers: { openai: { api_key: "${KEY}" } }\n');
    const { code, stdout } = await run(['check'], { KEY: 'sk-never-to-be-seen', GROQ_API_KEY: 'gsk-never-to-be-seen' });
    assert.equal(code, 0);
    assert.ok(!stdout.includes('never'));
    const config = parse(stdout);
    assert.deepEqual(config.providers, {
      openai: { type: 'openai', api_key: 'sk-n…' },
      groq: { type: 'groq', api_key: 'gsk-…' },
      sandbox: { type: 'sandbox' },
    });
    assert.match(stdout, /^# anthropic +waiting for ANTHROPIC_API_KEY$/m);
  });

  test('says where the credentials of identities come from, without asking anybody', async (context) => {
    const { folder, run } = program(context);
    const bedrock = 'type: bedrock, base_url: "https://bedrock-runtime.us-east-1.amazonaws.com", models: [{ id: m }]';
    const lines = ['auto', '{ profile: absent }', '{ role_arn: "arn:aws:iam::1:role/r" }'].map(
      (credentials, index) => `  aws${index}: { ${bedrock}, credentials: ${credentials} }`,
    );
    writeFileSync(join(folder, 'polygate.yaml'), `providers:\n${lines.join('\n')}\n`);
    const { code, stdout, stderr } = await run(['check'], {
      HOME: folder,
      AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/PLANTED-path',
      AWS_CONTAINER_AUTHORIZATION_TOKEN: 'PLANTED-token',
    });
    assert.equal(code, 0);
    const name = 'role of the container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)';
    const [, shown] = /^# aws0 +ready, credentials: (.*)$/m.exec(stdout) ?? [];
    assert.equal(shown, name);
    assert.match(stdout, /^# aws1 +unreachable: It has no credentials: the shared files of AWS .* "absent"\.$/m);
    assert.match(stdout, /^# aws2 +ready, credentials: role, assumed with: role of the container/m);
    assert.match(stderr, /Warning: aws1 is not reached: It has no credentials/);
    assert.ok(!(stdout + stderr).includes('PLANTED'));
  });

  test('says what is wrong and where, and nothing else', async (context) => {
    const { folder, run } = program(context);
    const file = join(folder, 'other.yaml');
    writeFileSync(file, 'server:\n  prot: 1\n');
    const { code, stdout, stderr } = await run(['check'], { POLYGATE_CONFIG: 'other.yaml' });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /other\.yaml:2: server\.prot: unknown field; did you mean port\?; allowed: [^\n]*\n$/);
  });

  test('takes the file of the flag before that of the environment', async (context) => {
    const { run } = program(context);
    const { code, stderr } = await run(['check', '--config', 'flag.yaml'], { POLYGATE_CONFIG: 'environment.yaml' });
    assert.equal(code, 1);
    assert.match(stderr, /flag\.yaml: no such file\n$/);
  });

  test('warns of a gateway that others can reach while no key is active', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'server: { host: 0.0.0.0 }\n');
    const { code, stderr } = await run(['check']);
    assert.equal(code, 0);
    assert.match(stderr, /^There is no API key yet, so every request is refused\. [^\n]*keys create[^\n]*\n$/);
    writeFileSync(join(folder, 'key'), 'k'.repeat(32));
    assert.equal((await run(['check'], { POLYGATE_FIRST_KEY_FILE: 'key' })).stderr, '');
    assert.equal((await run(['keys', 'create', '--name', 'a'])).code, 0);
    assert.equal((await run(['check'])).stderr, '');
    assert.equal((await run(['keys', 'revoke', 'a'])).code, 0);
    assert.match((await run(['check'], { POLYGATE_FIRST_KEY_FILE: 'key' })).stderr, /^No API key is active, so/);
  });
});

describe('keys', () => {
  test('are made, listed and revoked', async (context) => {
    const { run } = program(context);
    const made = await run(['keys', 'create', '--name', 'ci', '--expires', '30d', '--models', 'sandbox/*, openai/*']);
    assert.match(made.stdout, /^sk-pg-[A-Za-z0-9_-]{49}\n$/);
    assert.match(made.stderr, /shown once and stored only as a hash/);

    const [key] = JSON.parse((await run(['keys', 'list', '--json'])).stdout);
    assert.equal(key.name, 'ci');
    assert.equal(key.state, 'active');
    assert.deepEqual(key.models, ['sandbox/*', 'openai/*']);
    assert.ok(Math.abs(Date.parse(key.expires_at) - Date.now() - 30 * 86_400_000) < 60_000);
    assert.ok(!JSON.stringify(key).includes(made.stdout.trim().slice(8)));

    assert.match((await run(['keys', 'revoke', 'ci'])).stdout, /"ci" \(sk-pg-..…\) is revoked/);
    assert.match((await run(['keys', 'list'])).stdout, /^ci\tsk-pg-..…\trevoked\t/);
  });

  test('of the configuration are listed too', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), 'keys: [{ name: fixed, key: "${K}" }]\n');
    const { stdout } = await run(['keys', 'list'], { K: '0123456789abcdef' });
    assert.equal(stdout, 'fixed\t0123…\tactive\tconfiguration\tnever\tall\t\t\tconfig:fixed\n');
    assert.deepEqual(readdirSync(folder), ['polygate.yaml']);
  });

  test('need an existing store, and create none', async (context) => {
    const { folder, run } = program(context);
    const reading = ['keys list', 'keys show a', 'keys revoke a', 'videos list', 'usage', 'audit'];
    for (const command of reading) {
      const { code, stdout, stderr } = await run(command.split(' '));
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(
        stderr,
        /^There is no store in .*data\. The configuration .* names its place with data; .*\n$/,
        command,
      );
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  test('with invalid options are refused in one line', async (context) => {
    const { run } = program(context);
    assert.equal((await run(['keys', 'create', '--name', 'somebody'])).code, 0);
    for (const [args, message] of [
      [['keys', 'create', '--name', 'a', '--expires', '2001-01-01'], /--expires must be a future ISO date/],
      [['keys', 'create', '--name', 'a', '--expires', 'soon'], /--expires must be a future ISO date/],
      [['keys', 'create'], /--name, or several keys with --from/],
      [['keys', 'revoke', 'nobody'], /There is no key with the id or name "nobody"/],
    ] as const) {
      const { code, stderr } = await run([...args]);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.ok(!stderr.includes('    at '), stderr);
    }
  });
});

describe('models', () => {
  test('lists what can be reached', async (context) => {
    const { run } = program(context);
    const { code, stdout } = await run(['models', '--provider', 'sandbox']);
    assert.equal(code, 0);
    assert.match(stdout, /^sandbox\/echo\t(\S+\t){3}text\tchat\t/m);
    assert.match(stdout, /^sandbox\/embed\t(\S+\t){3}embeddings\t-\t/m);
    assert.match(stdout, /^sandbox\/video\t(\S+\t){3}video\t-\t/m);
    const list = JSON.parse((await run(['models', '--json'])).stdout);
    assert.equal(list[0].object, 'model');
    assert.ok(list.every((model: { id: string }) => model.id.startsWith('sandbox/')));
  });

  test('names the providers there are', async (context) => {
    const { run } = program(context);
    const unknown = await run(['models', '--provider', 'sandbx']);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /There is no provider "sandbx"; there are: .*sandbox/);
    const waiting = await run(['models', '--provider', 'openai']);
    assert.match(waiting.stderr, /"openai" waits for its key/);
  });
});

describe('a setting with a model that nobody has', () => {
  const settings = `
default_model: sandbox/ehco
routing: { fallback_models: [sandbox/echo:floor, house/m:nope, house/m:sandbox, openai/gpt-5-mini, nearby/m] }
models: { house/m: { endpoints: [{ provider: sandbox, model: echo }] } }
aliases: { "claude-*": house/m, fast: speedy }
`;
  const UNKNOWN = ['default_model', 'routing.fallback_models[1]', 'routing.fallback_models[4]', 'aliases.fast'];
  const warned = (text: string) => [...text.matchAll(/^Warning: (\S+): there is no model "/gm)].map(([, name]) => name);

  test('is a warning of check and of the start, as far as providers can be asked', async (context) => {
    const { folder, run, start } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), `${settings}server: { port: 0 }\n`);
    const { code, stderr } = await run(['check']);
    assert.equal(code, 0);
    assert.deepEqual(warned(stderr), UNKNOWN);
    const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
    assert.deepEqual(warned(banner), UNKNOWN);
  });

  test('is none where a provider does not answer that may have it', async (context) => {
    const { folder, run } = program(context);
    const near = 'providers: { near: { type: vllm, base_url: "http://127.0.0.1:9/v1" } }\n';
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `${near}default_model: speedy\naliases: { slow: near/m, no: sandbox/m }\n`,
    );
    assert.deepEqual(warned((await run(['check'])).stderr), ['aliases.no']);
  });
});

test('a provider of the file whose variable is not set is a warning of check and of the start', async (context) => {
  const { folder, run, start } = program(context);
  const providers = 'providers: { openai: { api_key: "${OPENAI_KEY}" }, google: {}, groq: { api_key: key-of-nobody } }';
  writeFileSync(join(folder, 'polygate.yaml'), `server: { port: 0 }\n${providers}\n`);
  const WAITING = [
    ['openai', 'OPENAI_KEY'],
    ['google', 'GEMINI_API_KEY or GOOGLE_API_KEY'],
  ];
  const warned = (text: string) =>
    [...text.matchAll(/^Warning: providers\.(\w+) waits for (.+), and is not used until it is set\.$/gm)].map(
      ([, ...parts]) => parts,
    );
  const { code, stderr } = await run(['check']);
  assert.equal(code, 0);
  assert.deepEqual(warned(stderr), WAITING);
  const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
  assert.deepEqual(warned(banner), WAITING);
});

test('a proxy in the environment is a warning of check', async (context) => {
  const { run } = program(context);
  const { code, stderr } = await run(['check'], { HTTPS_PROXY: 'http://127.0.0.1:9' });
  assert.equal(code, 0);
  assert.match(stderr, /^Warning: HTTPS_PROXY is set, and is not used: /m);
  assert.doesNotMatch((await run(['check'])).stderr, /PROXY/);
});

test('an endpoint that its provider does not list is a warning of check and of the start', async (context) => {
  const { folder, run, start } = program(context);
  const settings = `
server: { port: 0 }
providers:
  openai: { api_key: key-of-nobody }
  anthropic: { api_key: "\${ANTHROPIC_API_KEY}" }
  groq: { api_key: key-of-nobody, models: any }
  near: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", models: [{ id: own }, { id: "llama3.2:latest" }] }
models:
  team/fast:
    endpoints:
      - { provider: sandbox, model: eco }
      - { provider: openai, model: gpt-5-mni }
      - { provider: openai, model: gpt-5-mini }
      - { provider: openai, model: gpt-newest, pricing: { prompt: "0.000001", completion: "0.000002" } }
      - { provider: anthropic, model: claude-nothing }
      - { provider: groq, model: anything }
      - { provider: near, model: own }
      - { provider: near, model: llama3.2 }
`;
  writeFileSync(join(folder, 'polygate.yaml'), settings);
  const warned = (text: string) => [...text.matchAll(/^Warning: (\S+): (\w+) lists no model "([\w.-]+)"/gm)];
  const UNLISTED = [
    ['models.team/fast.endpoints[0]', 'sandbox', 'eco'],
    ['models.team/fast.endpoints[1]', 'openai', 'gpt-5-mni'],
  ];
  const { code, stderr } = await run(['check']);
  assert.equal(code, 0);
  assert.deepEqual(
    warned(stderr).map(([, ...parts]) => parts),
    UNLISTED,
  );
  const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
  assert.deepEqual(
    warned(banner).map(([, ...parts]) => parts),
    UNLISTED,
  );
});

test('a key of telemetry.budget_keys that there is not is a warning of check and of the start', async (context) => {
  const { folder, run, start } = program(context);
  const settings =
    'telemetry: { budget_keys: [ci, stored, typo] }\nkeys: [{ name: ci, key: sk-of-a-test-0123456789 }]\n';
  writeFileSync(join(folder, 'polygate.yaml'), `${settings}server: { port: 0 }\n`);
  const warned = (text: string) =>
    [...text.matchAll(/^Warning: telemetry.budget_keys: there is no key "(\w+)"/gm)].map(([, name]) => name);
  assert.deepEqual(warned((await run(['check'])).stderr), ['stored', 'typo']);
  assert.equal((await run(['keys', 'create', '--name', 'stored'])).code, 0);
  assert.deepEqual(warned((await run(['check'])).stderr), ['typo']);
  const [banner] = await start(['serve']).shows(/[\s\S]*Ctrl-C stops it/);
  assert.deepEqual(warned(banner), ['typo']);
});

describe('a deployment whose model nothing names', () => {
  test('is a warning of check, and so is a base that the catalog does not have', async (context) => {
    const { folder, run } = program(context);
    const pricing = '{ prompt: "0.000001", completion: "0.000002" }';
    writeFileSync(
      join(folder, 'polygate.yaml'),
      `
providers:
  azure:
    base_url: https://my-resource.openai.azure.com
    api_key: key-of-nobody
    models:
      - { id: known, base: openai/gpt-5.4 }
      - { id: dated, base: openai/gpt-4.1-2025-04-14 }
      - { id: gpt-4o }
      - { id: priced, pricing: ${pricing} }
      - { id: described, pricing: ${pricing}, rules: { reasoning: none } }
      - { id: mistyped, base: openai/gpt-99 }
  local: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", models: [{ id: own }] }
`,
    );
    const { code, stderr, stdout } = await run(['check']);
    assert.equal(code, 0, stderr);
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      'Warning: providers.azure.models: "gpt-4o" has no base, such as openai/gpt-4o: it has the newest rules and no price',
      'Warning: providers.azure.models: "priced" has no base, such as openai/gpt-5.4: it has the newest rules',
      'Warning: providers.azure.models: the base "openai/gpt-99" of "mistyped" is no model of the catalog: it has the newest rules and no price',
    ]);
    assert.match(stdout, /id: known\n +base: openai\/gpt-5\.4/);
    assert.ok(!stdout.includes('key-of-nobody'));
  });

  test('a dated version of the API is a setting of Azure alone', async (context) => {
    const { folder, run } = program(context);
    const write = (type: string, version: string) =>
      writeFileSync(
        join(folder, 'polygate.yaml'),
        `providers: { a: { type: ${type}, base_url: "https://a.example.com", api_key: k, api_version: ${version}, models: [] } }`,
      );
    write('azure', '2025-04-01-preview');
    const { code, stdout } = await run(['check']);
    assert.equal(code, 0);
    assert.match(stdout, /api_version: 2025-04-01-preview/);
    write('openai', '2025-04-01-preview');
    assert.match(
      (await run(['check'])).stderr,
      /providers\.a\.api_version: may not be set: .* type openai has no dated/,
    );
    write('azure', 'v1');
    assert.match((await run(['check'])).stderr, /providers\.a\.api_version: must be a dated version/);
  });
});

describe('a provider that does not answer', () => {
  const closed = 'providers: { near: { type: vllm, base_url: "http://127.0.0.1:9/v1" } }\n';

  test('is a warning of check, and never ready there', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), closed);
    const { code, stdout, stderr } = await run(['check']);
    assert.equal(code, 0);
    assert.match(stderr, /^Warning: near is not reached: \S/m);
    assert.match(stdout, /^# near +unreachable: \S/m);
    assert.match(stdout, /^# sandbox +ready$/m);
  });

  test('fails the list of models, which has the others', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), closed);
    const { code, stdout, stderr } = await run(['models']);
    assert.equal(code, 1);
    assert.match(stderr, /^Warning: near is not reached: \S/m);
    assert.match(stdout, /^sandbox\/echo\t/m);
  });

  test('stands between those that are ready and those that wait', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), closed);
    const { code, stdout } = await run(['providers']);
    assert.equal(code, 0);
    const [first, second, third] = stdout.split('\n');
    assert.match(first ?? '', /^sandbox\tready\t\d+\t$/);
    assert.match(second ?? '', /^near\tunreachable\t0\t\S/);
    assert.match(third ?? '', /\twaiting\t\tset [A-Z_]+/);
    const json = JSON.parse((await run(['providers', '--json'])).stdout);
    assert.deepEqual([json[1].id, json[1].state, typeof json[1].problem], ['near', 'unreachable', 'string']);
    assert.ok(json[2].waiting_for.length > 0);
  });
});

test('providers lists servers of this machine, and a variable that is set in place of the one that is read', async (context) => {
  const { folder, run } = program(context);
  const rowsOf = async (environment?: Record<string, string>) => {
    const { stdout } = await run(['providers'], environment);
    return new Map(stdout.split('\n').map((line) => [line.split('\t')[0], line]));
  };
  const rows = await rowsOf({
    OPENAI_KEY: 'a',
    TOGETHERAI_API_KEY: 'a',
    GOOGLE_GENERATIVE_AI_API_KEY: 'a',
    GROQ_API_BASE: 'a',
    FALCON_KEY: 'a',
  });
  assert.equal(rows.get('openai'), 'openai\twaiting\t\tset OPENAI_API_KEY; OPENAI_KEY is set, which is not read');
  assert.match(rows.get('together') ?? '', /; TOGETHERAI_API_KEY is set, which is not read$/);
  assert.match(rows.get('google') ?? '', /; GOOGLE_GENERATIVE_AI_API_KEY is set, which is not read$/);
  for (const id of ['groq', 'openrouter', 'fal']) assert.doesNotMatch(rows.get(id) ?? '', / is set/);
  assert.equal(rows.get('ollama'), 'ollama\toff\t\twrite "ollama: {}" below providers in the configuration');
  writeFileSync(join(folder, 'polygate.yaml'), 'providers: { ollama: { base_url: "http://127.0.0.1:9/v1" } }\n');
  assert.match((await rowsOf()).get('ollama') ?? '', /^ollama\tunreachable\t/);
  const named = 'providers: { own: { type: openai, base_url: "http://127.0.0.1:9/v1", api_key: "${OPENAI_KEY}" } }\n';
  writeFileSync(join(folder, 'polygate.yaml'), named);
  assert.equal((await rowsOf({ OPENAI_KEY: 'a' })).get('openai'), 'openai\twaiting\t\tset OPENAI_API_KEY');
});

test('a provider at the address of the gateway is a warning of check', async (context) => {
  const { folder, run } = program(context);
  const text = 'server: { port: 9 }\nproviders: { near: { type: vllm, base_url: "http://127.0.0.1:9/v1" } }\n';
  writeFileSync(join(folder, 'polygate.yaml'), text);
  const { stderr } = await run(['check']);
  assert.match(
    stderr,
    /^Warning: providers\.near: http:\/\/127\.0\.0\.1:9\/v1 is the address of the gateway itself; /m,
  );
});

test('the version is printed by each of its usual names', async (context) => {
  const { run } = program(context);
  for (const name of ['-v', '-V', '--version'])
    assert.deepEqual(await run([name]), { code: 0, stdout: `${version}\n`, stderr: '' }, name);
});

test('a table is aligned for people and plain for programs', () => {
  const rows = [
    ['a', 'long value', '1'],
    ['bcd', 'x', ''],
  ];
  assert.equal(formatTable(['ID', 'NAME', 'N'], rows, true), 'ID   NAME        N\na    long value  1\nbcd  x\n');
  assert.equal(formatTable(['ID', 'NAME', 'N'], rows, false), 'a\tlong value\t1\nbcd\tx\t\n');
  // Some cells are texts of clients.
  for (const isTerminal of [true, false])
    assert.match(
      formatTable(['A'], [['\u001b[31mred\u009b0m\ttab\nline\u0007']], isTerminal),
      /^(A\n)?\?\[31mred\?0m tab line\?\n$/,
    );
});

test('a backup is noted in the store, for the metrics and the page of health', async (context) => {
  const { folder, run } = program(context);
  assert.equal((await run(['keys', 'create', '--name', 'ci'])).code, 0);
  const began = Date.now();
  const { code, stderr } = await run(['backup', 'copy']);
  assert.equal(code, 0, stderr);
  const store = await openStore({ data: join(folder, 'data'), role: 'guest' });
  context.after(() => store.close());
  const at = await store.call('readMoment', { name: 'backup' });
  assert.ok(at !== undefined && at >= began && at <= Date.now(), `${at}`);
});
