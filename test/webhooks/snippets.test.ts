/** The verification snippets of docs/webhooks.md, each given a real delivery and one that was tampered with. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { codeIn, ROOT } from '../docs/markdown.ts';
import { until } from '../jobs/rig.ts';
import { openTestSqlite, temporaryData } from '../store/stores.ts';
import { type Received, startReceiver } from './receiver.ts';
import { SECRET, startRig } from './rig.ts';

const DOCUMENT = 'docs/webhooks.md';
const VERIFY = join(ROOT, 'src', 'webhooks', 'verify.ts');

interface Program {
  language: string;
  /** What runs it. Gives its version with the arguments. */
  command: string;
  version: string[];
  /** Writes the files of a program that prints the event for a good body on standard input, and how to start it. */
  files(snippet: string): Record<string, string>;
  run: string[];
}

const PROGRAMS: Program[] = [
  {
    language: 'ts',
    command: process.execPath,
    version: ['--version'],
    files: (snippet) => ({
      'main.ts': `${snippet.replace("'@polygate/webhooks'", JSON.stringify(VERIFY))}
import { readFileSync } from 'node:fs';
const { SIGNATURE = '', SECRET = '' } = process.env;
console.log(receive(readFileSync(0), { 'X-Service-Signature': SIGNATURE }, SECRET));`,
    }),
    run: ['main.ts'],
  },
  {
    language: 'python',
    command: 'python3',
    version: ['--version'],
    files: (snippet) => ({
      'main.py': `${snippet}
import os, sys
webhook = verify_webhook(sys.stdin.buffer.read(), os.environ["SIGNATURE"], os.environ["SECRET"])
print(webhook["event"], webhook["data"]["status"])`,
    }),
    run: ['main.py'],
  },
  {
    language: 'go',
    command: 'go',
    version: ['version'],
    files: (snippet) => ({
      'verify.go': snippet,
      'main.go': `package main
import ("fmt"; "io"; "os"; "encoding/json")
func main() {
	body, _ := io.ReadAll(os.Stdin)
	webhook, err := VerifyWebhook(body, os.Getenv("SIGNATURE"), os.Getenv("SECRET"))
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	var data struct { Status string }
	_ = json.Unmarshal(webhook.Data, &data)
	fmt.Println(webhook.Event, data.Status)
}`,
    }),
    run: ['run', 'verify.go', 'main.go'],
  },
  {
    language: 'php',
    command: 'php',
    version: ['--version'],
    files: (snippet) => ({
      'main.php': `${snippet}
$webhook = verify_webhook(file_get_contents('php://stdin'), getenv('SIGNATURE'), getenv('SECRET'));
echo $webhook['event'], ' ', $webhook['data']['status'], "\\n";`,
    }),
    run: ['main.php'],
  },
];

describe('snippets', () => {
  for (const program of PROGRAMS) {
    test(`${program.language} verifies a real delivery and refuses a changed one`, {
      timeout: 180_000,
    }, async (context) => {
      const [snippet, ...more] = codeIn(DOCUMENT, program.language);
      assert.ok(snippet && more.length === 0, `${DOCUMENT} has one snippet in ${program.language}`);
      const version = spawnSync(program.command, program.version, { encoding: 'utf8' });
      if (version.error || version.status !== 0) {
        context.skip(`${program.command} is not on this machine; only the number of snippets was checked`);
        return;
      }
      const { body, headers } = await delivered(context);
      const signature = String(headers['x-service-signature']);
      const start = programIn(context, program, snippet);
      assert.equal(start(body, signature, SECRET), 'video.generation.completed completed');
      const refused: [Buffer, string, string][] = [
        [Buffer.concat([body, Buffer.from(' ')]), signature, SECRET],
        [body, signature, `${SECRET}x`],
        [body, `${signature}x`, SECRET],
        [body, signature.toLowerCase(), SECRET],
        [body, '', SECRET],
      ];
      const tried = program.language === 'ts' ? refused : refused.slice(0, 3);
      for (const wrong of tried) assert.throws(() => start(...wrong));
    });
  }
});

/** A webhook as its receiver got it. */
async function delivered(context: TestContext): Promise<Received> {
  const receiver = await startReceiver();
  context.after(receiver.close);
  const rig = await startRig(context, openTestSqlite);
  await rig.owe(receiver.url());
  await until(() => receiver.received.length === 1);
  return receiver.received[0] ?? assert.fail();
}

function programIn(context: TestContext, { command, files, run }: Program, snippet: string) {
  const folder = temporaryData(context);
  for (const [name, text] of Object.entries(files(snippet))) writeFileSync(join(folder, name), text);
  return (body: Buffer, signature: string, secret: string): string =>
    execFileSync(command, run, {
      cwd: folder,
      input: body,
      env: { ...process.env, SIGNATURE: signature, SECRET: secret },
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    }).trim();
}

describe('the package', () => {
  let manifest: { exports: Record<string, { types: string; default: string }>; files: string[] };
  before(() => {
    manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  });

  test('exports what the documents import, from where the build puts it', () => {
    const { types, default: code } = manifest.exports['./webhooks'] ?? assert.fail();
    assert.equal(code, './dist/webhooks/verify.js');
    assert.equal(types, './dist/webhooks/verify.d.ts');
    assert.ok(manifest.files.includes('dist'));
  });
});
