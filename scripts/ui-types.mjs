/** Types of the API for the pages of the dashboard, written from the description that a gateway gives. Needs a recent Node. */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './install.mjs';

const HEADER = '/** Types of the API, generated from its description. */\n\n';

const { startTestGateway } = await import('../test/gateway/harness.ts');
const { default: generate, astToString } = createRequire(join(root, 'ui', 'package.json'))('openapi-typescript');
const gateway = await startTestGateway();
try {
  const response = await fetch(`${gateway.url}/openapi.json`);
  const types = astToString(await generate(await response.json()));
  writeFileSync(join(root, 'ui', 'src', 'api-types.ts'), HEADER + types);
} finally {
  await gateway.close();
}
