/** `polygate connect`: settings that keep everything else in their files, checked by a request, and undone byte for byte. */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { connectedPrograms } from '../../src/cli/connect/programs.ts';
import { withSettings } from '../../src/cli/connect/settings-file.ts';
import type { Json } from '../../src/core/json/json.ts';
import { snippetOf } from '../../ui/src/snippets.ts';
import { IDS, speak } from '../conformance/rig.ts';
import { KEY, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from '../gateway/harness.ts';
import { type Outcome, program } from './program.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(speak({ text: 'OK' }));
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }, { id: small }] }
`);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Home {
  path(name: string): string;
  read(name: string): string;
  write(name: string, text: string): string;
  connect(...args: string[]): Promise<Outcome>;
}

function home(context: TestContext): Home {
  const { folder, run } = program(context);
  const path = (name: string) => join(folder, name);
  return {
    path,
    read: (name) => readFileSync(path(name), 'utf8'),
    write(name, text) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), text);
      return text;
    },
    connect: (...args) =>
      run(['connect', ...args, '--url', gateway.url], { HOME: folder, USERPROFILE: folder, POLYGATE_KEY: KEY }),
  };
}

/** Files of people, with comments, other settings and odd spacing. */
const FILES: Record<string, Record<string, string>> = {
  claude: { '.claude/settings.json': '{\n\t"permissions": { "allow": ["Bash(ls:*)"] },\n\t"env": { "FOO": "1" }\n}' },
  codex: {
    '.codex/config.toml':
      '# mine\nmodel = "gpt-5"  # the big one\napproval_policy = "never"\r\n\n[projects."/home/me"]\ntrust_level = "trusted"\nsince = 2026-01-02',
  },
  gemini: {
    '.gemini/settings.json':
      '{\n    // dark\n    "ui": { "theme": "Dracula" }, "security": { "auth": { "selectedType": "oauth-personal" } }\n}\n',
    '.gemini/.env': '# keys\nexport GEMINI_API_KEY=old\nOTHER="two words"',
  },
  opencode: {
    '.config/opencode/opencode.jsonc':
      '{\n  // mine\n  "provider": { "x": { "name": "X" } },\n  "theme": "system",\n}\n',
  },
  qwen: {
    '.qwen/settings.json':
      '{"modelProviders":{"openai":[{"id":"qwen3","baseUrl":"https://x.example/v1","envKey":"X"}]},"$version":4}',
  },
  aider: { '.aider.conf.yml': '# mine\nmodel: sonnet   # favourite\ndark-mode: true\nread: [CONVENTIONS.md]\n' },
};
describe('every program', () => {
  for (const [id, { title, files }] of Object.entries(connectedPrograms)) {
    const name = `${title}: `;

    test(`${name}a request is sent, the settings are written, and undo gives every byte back`, async (context) => {
      const { read, write, path, connect } = home(context);
      const texts = Object.entries(FILES[id] ?? {});
      for (const [file, text] of texts) write(file, text);
      upstream.calls.length = 0;
      const { code, stdout, stderr } = await connect(id, '--model', 'a/m', '--small-model', 'a/small');
      assert.equal(code, 0, stderr);
      assert.deepEqual([upstream.calls.length, upstream.calls[0]?.body.model], [1, 'm']);
      assert.match(stdout, /^Checked: a\/m is answered by a\/m/);
      const written = texts.map(([file]) => read(file)).join('\n');
      assert.ok(written.includes(gateway.url) && written.includes(KEY) && written.includes('a/m'), written);
      for (const [file, text] of texts) {
        assert.notEqual(read(file), text);
        assert.equal(statSync(path(file)).mode & 0o077, 0, 'others cannot read the key');
      }
      const undone = await connect(id, '--undo');
      assert.equal(undone.code, 0, undone.stderr);
      for (const [file, text] of texts) assert.equal(read(file), text);
      const again = await connect(id, '--undo');
      assert.deepEqual([again.code, again.stdout.startsWith('There is nothing to undo')], [0, true]);
    });

    test(`${name}files that were not there are gone after undo, and only shown by --print`, async (context) => {
      const { path, connect } = home(context);
      const environment = process.env.HOME;
      process.env.HOME = path('');
      context.after(() => {
        process.env.HOME = environment;
      });
      const wanted = files({ url: gateway.url, key: KEY, model: 'a/m', smallModel: 'a/m' }, {}).map(
        (file) => file.path,
      );
      const shown = await connect(id, '--model', 'a/m', '--print');
      for (const file of wanted) assert.ok(shown.stdout.includes(`# ${file}\n`) && !existsSync(file), shown.stdout);
      assert.equal((await connect(id, '--model', 'a/m')).code, 0);
      for (const file of wanted) assert.ok(shown.stdout.includes(readFileSync(file, 'utf8')));
      assert.equal((await connect(id, '--undo')).code, 0);
      for (const file of wanted) assert.ok(!existsSync(file), file);
    });

    test(`${name}undo leaves a file that was changed since, and names it`, async (context) => {
      const { read, write, connect } = home(context);
      const texts = Object.entries(FILES[id] ?? {});
      for (const [file, text] of texts) write(file, text);
      await connect(id, '--model', 'a/m');
      const [[changed = '', original = ''] = []] = texts;
      const mine = write(changed, `${read(changed)}\n`);
      for (const attempt of ['undo', 'connected again', 'undo after that']) {
        if (attempt === 'connected again') {
          assert.equal((await connect(id, '--model', 'a/small')).code, 0);
          continue;
        }
        const undone = await connect(id, '--undo');
        assert.equal(undone.code, 1, attempt);
        assert.ok(undone.stderr.includes(changed), undone.stderr);
      }
      assert.notEqual(read(changed), original);
      assert.ok(read(changed).endsWith(mine.slice(-1)));
    });
  }
});

test('everything else in the files means and looks the same', () => {
  const connection = { url: 'http://127.0.0.1:8080', key: KEY, model: 'a/m', smallModel: 'a/s' };
  const [codex] = connectedPrograms.codex?.files(connection, {}) ?? [];
  assert.ok(codex);
  const text = withSettings(FILES.codex?.['.codex/config.toml'] ?? '', codex);
  assert.match(text, /^model_provider = "polygate"\r\n# mine\nmodel = "a\/m" {2}# the big one\n/);
  assert.deepEqual(JSON.parse(JSON.stringify(parseToml(text))), {
    model_provider: 'polygate',
    model: 'a/m',
    approval_policy: 'never',
    projects: { '/home/me': { trust_level: 'trusted', since: '2026-01-02' } },
    model_providers: {
      polygate: {
        name: 'Polygate',
        base_url: 'http://127.0.0.1:8080/v1',
        wire_api: 'responses',
        experimental_bearer_token: KEY,
      },
    },
  });
  assert.equal(withSettings(text, codex), text, 'twice is once');
  const [aider] = connectedPrograms.aider?.files(connection, {}) ?? [];
  assert.ok(aider);
  const yaml = withSettings(FILES.aider?.['.aider.conf.yml'] ?? '', aider);
  assert.match(yaml, /^# mine\nmodel: "openai\/a\/m"\ndark-mode: true\nread: \[CONVENTIONS\.md\]\n/);
  const [qwen] = connectedPrograms.qwen?.files(connection, {}) ?? [];
  assert.ok(qwen);
  const { modelProviders, $version } = JSON.parse(withSettings(FILES.qwen?.['.qwen/settings.json'] ?? '', qwen));
  assert.deepEqual([modelProviders.openai.map(({ id }: Json) => id), $version], [['a/s', 'a/m', 'qwen3'], 4]);
  const [opencode] = connectedPrograms.opencode?.files(connection, {}) ?? [];
  assert.ok(opencode);
  const jsonc = withSettings(FILES.opencode?.['.config/opencode/opencode.jsonc'] ?? '', opencode);
  assert.match(jsonc, /\/\/ mine\n/);
  assert.match(jsonc, /"name": "X"/);
});

test('a table of an earlier connection is replaced, and nothing beside it', () => {
  const connection = { url: 'https://gateway.example', key: KEY, model: 'a/m', smallModel: 'a/m' };
  const [codex] = connectedPrograms.codex?.files(connection, {}) ?? [];
  assert.ok(codex);
  const old =
    '[ model_providers.polygate ]\nname = "Old"\nenv_key = "K"\n\n# the other\n[model_providers.other]\nname = "O"\n';
  const { model_providers: providers } = parseToml(withSettings(old, codex)) as Json;
  assert.deepEqual(Object.keys(providers.polygate), ['name', 'base_url', 'wire_api', 'experimental_bearer_token']);
  assert.equal(providers.other.name, 'O');
});

test('a file that cannot be edited safely is left as it is', () => {
  const connection = { url: 'http://127.0.0.1:8080', key: KEY, model: 'a/m', smallModel: 'a/m' };
  const cases: [string, string, RegExp][] = [
    ['codex', 'model = "a\n', /cannot be read/],
    ['codex', 'model_providers = { polygate = { name = "x" } }\n', /unusual/],
    ['codex', 'model = """\nx"""\n', /unusual/],
    ['codex', 'note = """\n[model_providers.polygate]\n"""\nmodel_providers.polygate.name = "x"\n', /unusual/],
    ['claude', '{ "env": "x" }', /its "env" is no object/],
    ['claude', '[]', /no named settings/],
    ['claude', '{ "env": { ', /cannot be read/],
    ['qwen', '{ "modelProviders": { "openai": { "models": [] } } }', /its "openai" is no list/],
    ['aider', '{ model: sonnet }\n', /cannot be read|unusual/],
    ['aider', 'model: |\n  sonnet\n', /cannot be read|unusual/],
  ];
  for (const [id, text, problem] of cases) {
    const [file] = connectedPrograms[id]?.files(connection, {}) ?? [];
    assert.ok(file);
    assert.throws(() => withSettings(text, file), problem, `${id}: ${text}`);
  }
});

test('a connection that does not work is not written, and the reason is said', async (context) => {
  const { path, connect } = home(context);
  const cases: [string[], RegExp][] = [
    [['--model', 'a/none'], /Nothing was written: the gateway answered with 404: .* no model "none"/],
    [['--model', 'a/m', '--key', 'sk-wrong-key'], /Nothing was written: the gateway answered with 401: /],
    [['--model', 'a/m', '--key', 'not a key'], /character that no key has/],
    [[], /A model is needed/],
  ];
  for (const [args, reason] of cases) {
    const { code, stderr } = await connect('claude', ...args);
    assert.equal(code, 1);
    assert.match(stderr, reason);
  }
  const { folder, run } = program(context);
  const nobody = ['connect', 'claude', '--model', 'a/m', '--url', 'http://127.0.0.1:1'];
  assert.match(
    (await run(nobody, { HOME: folder, POLYGATE_KEY: KEY })).stderr,
    /there is no gateway at http:.+; --url names another/,
  );
  const secure = ['connect', 'claude', '--model', 'a/m', '--url', gateway.url.replace('http:', 'https:')];
  assert.match((await run(secure, { HOME: folder, POLYGATE_KEY: KEY })).stderr, /\(it speaks http, not https\)/);
  assert.match((await run(nobody, { HOME: folder })).stderr, /A key is needed/);
  const plain = ['connect', 'gemini', '--model', 'a/m', '--url', 'http://gateway.example'];
  assert.match((await run(plain, { HOME: folder, POLYGATE_KEY: KEY })).stderr, /needs https/);
  const odd = ['connect', 'claude', '--model', 'a/m', '--url', 'gateway:8080'];
  assert.match((await run(odd, { HOME: folder, POLYGATE_KEY: KEY })).stderr, /--url is the address of the gateway/);
  assert.ok(!existsSync(path('.claude')) && !existsSync(join(folder, '.claude')));
});

test('a variable of the shell with another value is warned of, one with the same is not', async (context) => {
  const { folder, run } = program(context);
  const connect = (environment: Record<string, string>) =>
    run(['connect', 'qwen', '--model', 'a/m', '--key', KEY, '--url', gateway.url], {
      HOME: folder,
      USERPROFILE: folder,
      ...environment,
    });
  const same = await connect({ POLYGATE_KEY: KEY });
  assert.equal(same.code, 0, same.stderr);
  assert.doesNotMatch(same.stdout, /Warning/);
  const other = await connect({ POLYGATE_KEY: `${KEY}-of-another` });
  assert.match(other.stdout, /^Warning: POLYGATE_KEY of this shell comes before these settings: unset it\.$/m);
});

test('a second connection replaces the first, and undo still gives the original back', async (context) => {
  const { read, write, connect } = home(context);
  const original = write('.claude/settings.json', '{ "model": "opus" }\n');
  await connect('claude', '--model', 'a/m');
  await connect('claude', '--model', 'a/small');
  assert.ok(!read('.claude/settings.json').includes('"a/m"'));
  await connect('claude', '--undo');
  assert.equal(read('.claude/settings.json'), original);
});

test('a kill between record and file leaves what undo can take back', async (context) => {
  const { read, write, connect, path } = home(context);
  const original = write('.gemini/settings.json', '{}\n');
  await connect('gemini', '--model', 'a/m');
  // As if it had been killed before the last file was written, and before the first one.
  for (const text of [read('.gemini/settings.json'), original]) {
    await connect('gemini', '--model', 'a/m');
    write('.gemini/settings.json', text);
    const { code, stderr } = await connect('gemini', '--undo');
    assert.equal(code, 0, stderr);
    assert.equal(read('.gemini/settings.json'), original);
    assert.ok(!existsSync(path('.gemini/.env')));
  }
});

test('a link stays a link, and the mode comes back', async (context) => {
  const { read, write, connect, path } = home(context);
  const original = write('dotfiles/claude.json', '{}\n');
  chmodSync(path('dotfiles/claude.json'), 0o644);
  mkdirSync(path('.claude'));
  symlinkSync(path('dotfiles/claude.json'), path('.claude/settings.json'));
  await connect('claude', '--model', 'a/m');
  assert.ok(read('dotfiles/claude.json').includes(KEY));
  await connect('claude', '--undo');
  assert.deepEqual(
    [read('dotfiles/claude.json'), statSync(path('dotfiles/claude.json')).mode & 0o777],
    [original, 0o644],
  );
});

test('the protocols of the check are those that the gateway speaks', () => {
  const spoken = new Set(Object.values(connectedPrograms).map(({ protocol }) => protocol));
  assert.deepEqual([...spoken].toSorted(), [...IDS, 'responses'].toSorted());
});

test('the snippet of the dashboard for OpenCode has the settings that connect writes', () => {
  const given = { origin: 'https://gateway.example', model: 'a/m', key: '$POLYGATE_KEY' };
  const [, text = ''] = /OPENCODE_CONFIG_CONTENT='([^']*)'/.exec(snippetOf('OpenCode', given)) ?? [];
  const { polygate } = JSON.parse(text).provider;
  const connection = { url: given.origin, key: '{env:POLYGATE_KEY}', model: 'a/m', smallModel: 'a/m' };
  const [file] = connectedPrograms.opencode?.files(connection, {}) ?? [];
  assert.ok(file);
  const written = JSON.parse(withSettings('{}', file)).provider.polygate;
  assert.deepEqual([polygate.npm, polygate.options], [written.npm, written.options]);
  assert.deepEqual(Object.keys(polygate.models), Object.keys(written.models));
});
