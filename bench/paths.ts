/** Check before a run: each workload takes the path of a request that its row names, and is answered. */

import type { Subject } from './subjects/subject.ts';
import { chatToMessages, medium, messagesToChat, passthrough, patched, type Workload } from './workload.ts';

const PATHS: readonly [Workload, string][] = [
  [passthrough, 'passthrough'],
  [patched, 'patched'],
  [messagesToChat, 'translated'],
  [chatToMessages, 'translated'],
  [medium, 'passthrough'],
];

export async function checkPaths(subject: Subject): Promise<void> {
  for (const [workload, expected] of PATHS) {
    const target = subject.target(workload);
    if (!target) continue;
    const text = target.bytes.toString('latin1');
    const [head = ''] = text.split('\r\n\r\n', 1);
    const headers = head
      .split('\r\n')
      .slice(1)
      .flatMap((line) => {
        const [name = '', value = ''] = line.split(': ', 2);
        return ['host', 'content-length'].includes(name) ? [] : [[name, value] as [string, string]];
      });
    const response = await fetch(`http://127.0.0.1:${target.port}${workload.path}`, {
      ...{ method: 'POST', headers, body: target.bytes.subarray(head.length + 4) },
    });
    const answer = await response.text();
    const path = response.headers.get('x-polygate-path');
    if (response.status !== 200)
      throw new Error(`${workload.title}: status ${response.status}: ${answer.slice(0, 300)}`);
    if (path !== expected) throw new Error(`${workload.title}: the request was ${path}, not ${expected}`);
  }
}
