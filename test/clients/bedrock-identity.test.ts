/** Amazon Bedrock with identities of AWS, through a whole gateway. The vendor's own package verifies the signatures. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, askAdmin } from '../gateway/admin-client.ts';
import {
  answerJson,
  ask,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestGatewayOptions,
  type TestUpstream,
  type UpstreamCall,
} from '../gateway/harness.ts';
import { folderOf, START } from '../identity/rig.ts';
import { type Stub, startStub } from '../identity/stub.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { authorizationOfVendor } from './aws-signer.ts';

const CLAUDE_ID = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const MODEL = `bedrock/${CLAUDE_ID}`;
const ROLE = 'arn:aws:iam::123456789012:role/gateway';
const SECRET = 'PLANTED-secret/+of-role';
const TOKEN = 'PLANTED-web-identity-token';
const HOUR = 3_600_000;
const SCOPE = { region: 'us-east-1', service: 'bedrock' };

const CLAUDE: Json = {
  ...{ id: 'msg_bdrk_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5-20250929' },
  ...{ stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'Hello.' }],
  usage: { input_tokens: 3, output_tokens: 2 },
};

let upstream: TestUpstream;
/** Session tokens that Bedrock refuses. */
const expired = new Set<string>();
/** A model that the role may not ask. */
const DENIED_ID = 'us.anthropic.claude-opus-4-1-20250805-v1:0';

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.path.includes(encodeURIComponent(DENIED_ID))) {
      const denied = { 'x-amzn-errortype': 'AccessDeniedException:http://internal.amazon.com/' };
      return answerJson(response, { message: 'You do not have access to the model.' }, 403, denied);
    }
    if (!expired.has(String(call.headers['x-amz-security-token']))) return answerJson(response, CLAUDE);
    const headers = { 'x-amzn-errortype': 'ExpiredTokenException:http://internal.amazon.com/' };
    return answerJson(response, { message: 'The security token included in the request is expired' }, 403, headers);
  });
});
after(() => upstream.close());

const last = () => upstream.calls.at(-1) ?? assert.fail('nothing was asked');

/** STS, and the credentials endpoint of a container; keys by the number of the call. */
async function startIssuer(context: TestContext, clock?: ManualClock): Promise<Stub> {
  const stub = await startStub(({ path, form }) => {
    const { length } = stub.calls;
    // Asking takes time.
    clock?.advance(1);
    const Expiration = new Date((clock?.now() ?? Date.now()) + HOUR).toISOString();
    const keys = { AccessKeyId: `ASIA${length}`, SecretAccessKey: SECRET + length, Expiration };
    if (path === '/container') return { body: { ...keys, Token: `session-${length}` } };
    const all = Object.entries({ ...keys, SessionToken: `session-${length}` });
    const members = all.map(([name, value]) => `<${name}>${value}</${name}>`).join('');
    return { body: `<R><${form.Action}Result><Credentials>${members}</Credentials></${form.Action}Result></R>` };
  });
  context.after(() => stub.close());
  return stub;
}

const keysOf = (number: number) => ({
  accessKeyId: `ASIA${number}`,
  secretAccessKey: SECRET + number,
  sessionToken: `session-${number}`,
});

async function startBedrock(
  context: TestContext,
  credentials: string,
  options: TestGatewayOptions,
): Promise<TestGateway> {
  const yaml = `
${ADMIN_CONFIG}
providers:
  bedrock: { base_url: "${upstream.url}", credentials: ${credentials}, models: [{ id: "${CLAUDE_ID}" }, { id: "${DENIED_ID}" }] }
`;
  const gateway = await startTestGateway(yaml, options);
  context.after(() => gateway.close());
  return gateway;
}

const send = (gateway: TestGateway) => ask(gateway, { protocol: 'messages', model: MODEL, text: 'Hi' });

async function assertSigned(call: UpstreamCall, keys: ReturnType<typeof keysOf>): Promise<void> {
  assert.equal(call.headers['x-amz-security-token'], keys.sessionToken);
  assert.match(String(call.headers.authorization), /SignedHeaders=host;x-amz-date;x-amz-security-token,/);
  assert.equal(call.headers.authorization, await authorizationOfVendor(call, keys, SCOPE));
}

describe('Amazon Bedrock with an identity', () => {
  test('web identity: the keys of the role sign, with their session token', async (context) => {
    const sts = await startIssuer(context);
    const file = join(folderOf(context, { token: TOKEN }), 'token');
    const environment = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ROLE, AWS_ENDPOINT_URL_STS: sts.url };
    const gateway = await startBedrock(context, 'auto', { environment });
    assert.equal(sts.calls.length, 0, 'the start asks nobody');
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(gateway)));
    for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
    assert.deepEqual([sts.calls.length, sts.calls[0]?.form.WebIdentityToken], [1, TOKEN]);
    await assertSigned(last(), keysOf(1));
  });

  test('a role that is assumed: the request for its keys is signed, too', async (context) => {
    const sts = await startIssuer(context);
    const own = { accessKeyId: 'AKIAOWN', secretAccessKey: 'PLANTED-own', sessionToken: 'own session' };
    const gateway = await startBedrock(context, `{ role_arn: "${ROLE}" }`, {
      environment: {
        AWS_ACCESS_KEY_ID: own.accessKeyId,
        AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
        AWS_SESSION_TOKEN: own.sessionToken,
        AWS_ENDPOINT_URL_STS: sts.url,
        AWS_REGION: 'eu-west-1',
      },
    });
    assert.equal((await send(gateway)).status, 200);
    await assertSigned(last(), keysOf(1));
    const [call] = sts.calls;
    assert.ok(call);
    assert.equal(call.headers['x-amz-security-token'], own.sessionToken);
    const signed = { ...call, bytes: Buffer.from(call.text) };
    const scope = { region: 'eu-west-1', service: 'sts' };
    assert.equal(call.headers.authorization, await authorizationOfVendor(signed, own, scope));
  });

  test('container: renewed before the end, while the old keys sign; refused ones are renewed and the request repeated', async (context) => {
    const clock = createManualClock(START);
    const container = await startIssuer(context, clock);
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/container` };
    const gateway = await startBedrock(context, 'auto', { environment, clock });
    assert.equal((await send(gateway)).status, 200);
    await assertSigned(last(), keysOf(1));

    clock.advance(HOUR - 4 * 60_000);
    assert.equal((await send(gateway)).status, 200);
    await assertSigned(last(), keysOf(1));
    while (container.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    while (last().headers['x-amz-security-token'] === 'session-1') await send(gateway);
    await assertSigned(last(), keysOf(2));

    clock.advance(60_000);
    expired.add('session-2');
    const asked = upstream.calls.length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(gateway)));
    for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
    assert.equal(container.calls.length, 3, 'one renewal for all');
    assert.ok(upstream.calls.length <= asked + 40);
    await assertSigned(last(), keysOf(3));

    expired.add('session-3');
    const refused = await send(gateway);
    assert.equal(refused.status, 500, 'what is new and refused is refused for another reason');
    assert.doesNotMatch(await refused.text(), /security token|PLANTED|session-/);
    assert.equal(container.calls.length, 3);
  });

  test('a model without access does not cost the keys of the others while the issuer is down', async (context) => {
    expired.clear();
    const clock = createManualClock(START);
    const container = await startIssuer(context, clock);
    const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/container` };
    const gateway = await startBedrock(context, 'auto', { environment, clock });
    assert.equal((await send(gateway)).status, 200);
    clock.advance(60_000);
    container.mode = 'failing';
    const asked = upstream.calls.length;
    const denied = await ask(gateway, { protocol: 'messages', model: `bedrock/${DENIED_ID}`, text: 'Hi' });
    assert.equal(denied.status, 500);
    assert.equal(upstream.calls.length, asked + 1, 'it is not repeated');
    while (container.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal((await send(gateway)).status, 200);
    await assertSigned(last(), keysOf(1));

    for (let request = 0; request < 3; request++)
      await ask(gateway, { protocol: 'messages', model: `bedrock/${DENIED_ID}`, text: 'Hi' });
    assert.equal(container.calls.length, 2, 'the issuer is not asked again at once');
    container.mode = 'well';
    clock.advance(60_000);
    await ask(gateway, { protocol: 'messages', model: `bedrock/${DENIED_ID}`, text: 'Hi' });
    while (last().headers['x-amz-security-token'] === 'session-1') assert.equal((await send(gateway)).status, 200);
    await assertSigned(last(), keysOf(3));
  });

  test('no secret is in logs, errors, traces and the admin API, also when the issuer fails', async (context) => {
    const sts = await startIssuer(context);
    const file = join(folderOf(context, { token: TOKEN }), 'token');
    const environment = { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: ROLE, AWS_ENDPOINT_URL_STS: sts.url };
    const gateway = await startBedrock(context, 'auto', { environment });
    const seen: string[] = [];
    seen.push(await (await send(gateway)).text());
    writeFileSync(file, '');
    const failing = await startBedrock(context, 'auto', { environment });
    const refused = await send(failing);
    assert.equal(refused.status, 500);
    const message = await refused.text();
    assert.match(message, /No credentials for the upstream could be had: they are not set up\./);
    assert.ok(!message.includes(file), 'paths are no concern of clients');
    writeFileSync(file, TOKEN);
    sts.mode = 'failing';
    const down = await startBedrock(context, 'auto', { environment });
    const unanswered = await (await send(down)).text();
    assert.match(unanswered, /AWS STS refused with status 500\./);
    seen.push(message, unanswered);
    for (const one of [gateway, failing, down]) {
      seen.push(JSON.stringify(one.log));
      for (const path of ['/config', '/requests', '/health/endpoints', '/models']) {
        const answer = await askAdmin(one.adminUrl, 'GET', path);
        assert.equal(answer.status, 200, path);
        seen.push(JSON.stringify(answer));
        if (path !== '/requests') continue;
        const ids: string[] = answer.body.data.map(({ id }: Json) => id);
        if (one === gateway) assert.equal(ids.length, 1);
        for (const id of ids) seen.push(JSON.stringify(await askAdmin(one.adminUrl, 'GET', `/requests/${id}`)));
      }
    }
    assert.ok(JSON.stringify(failing.log).includes(`${file} is empty`));
    assert.match(JSON.stringify(down.log), /credentials not renewed/);
    for (const text of seen) {
      assert.doesNotMatch(text, /PLANTED/);
      assert.ok(!text.includes('session-1'), text);
    }
  });
});
