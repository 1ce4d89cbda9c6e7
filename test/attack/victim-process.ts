/** The process of a victim: a gateway until its parent lets go. */

import { startTestGateway } from '../gateway/harness.ts';

const [yaml, keys = '[]'] = process.argv.slice(2);
const gateway = await startTestGateway(yaml, { keys: JSON.parse(keys) });
process.on('disconnect', () => gateway.stop(0).then(() => process.exit()));
process.send?.({ url: gateway.url, adminUrl: gateway.adminUrl });
