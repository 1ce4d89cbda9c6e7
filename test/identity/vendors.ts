/** Services of AWS and Google that credentials are asked of. The vendors' own libraries accept them. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { START } from './rig.ts';
import { type Stub, type StubAnswer, startStub } from './stub.ts';

export const PLANTED = 'PLANTED-SECRET';
export const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** All services of AWS that credentials are asked of. */
export async function startAws(context: TestContext, now = START): Promise<Stub> {
  const stub = await startStub(({ method, path, headers, form }): StubAnswer => {
    const number = stub.calls.length;
    const keys = {
      AccessKeyId: `ASIA${number}`,
      SecretAccessKey: `${PLANTED}-${number}`,
      Expiration: new Date(now + HOUR).toISOString(),
    };
    if (path === '/latest/api/token')
      return method === 'PUT' && headers['x-aws-ec2-metadata-token-ttl-seconds']
        ? { body: 'session' }
        : { status: 400 };
    if (path.startsWith('/latest/meta-data/')) {
      if (headers['x-aws-ec2-metadata-token'] !== 'session') return { status: 401 };
      return path.endsWith('/') ? { body: 'role-of-instance' } : { body: { Code: 'Success', ...keys, Token: 'imds' } };
    }
    if (path === '/container') return { body: { ...keys, Token: `container ${headers.authorization}` } };
    if (form.RoleArn === 'refused')
      return {
        status: 403,
        body: `<ErrorResponse><Error><Code>AccessDenied</Code><Message>${PLANTED}</Message></Error></ErrorResponse>`,
      };
    const body = Object.entries({ ...keys, SessionToken: `session of ${form.Action}` });
    const members = body.map(([name, value]) => `<${name}>${value}</${name}>`).join('');
    return {
      body: `<${form.Action}Response><${form.Action}Result><Credentials>${members}</Credentials></${form.Action}Result></${form.Action}Response>`,
    };
  });
  context.after(() => stub.close());
  return stub;
}

/** Token endpoints, the metadata server and a source of subject tokens. */
export async function startGoogle(context: TestContext, now = START): Promise<Stub> {
  const stub = await startStub(({ path, headers, form, text }): StubAnswer => {
    const number = stub.calls.length;
    const token = { access_token: `token-${number}`, expires_in: 3599, token_type: 'Bearer' };
    if (path.startsWith('/computeMetadata/v1/instance')) {
      if (headers['metadata-flavor'] !== 'Google') return { status: 403 };
      return { headers: { 'metadata-flavor': 'Google' }, body: path.endsWith('/token') ? token : {} };
    }
    if (path === '/subject') return { body: { deep: headers.x === 'y' ? `${PLANTED}-subject` : 'no header' } };
    if (path.endsWith(':generateAccessToken')) {
      const { delegates = ['one'], ...rest } = JSON.parse(text);
      assert.deepEqual([delegates, rest], [['one'], { scope: [GOOGLE_SCOPE], lifetime: '3600s' }]);
      return {
        body: { accessToken: `acted ${headers.authorization}`, expireTime: new Date(now + 30 * MINUTE).toISOString() },
      };
    }
    if (form.refresh_token === 'revoked')
      return { status: 400, body: { error: 'invalid_grant', error_description: `Token ${PLANTED} has been revoked.` } };
    return { body: token };
  });
  context.after(() => stub.close());
  return stub;
}
