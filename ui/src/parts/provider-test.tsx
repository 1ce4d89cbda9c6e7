/** Test of a provider by an admin: whether it gives its list of models now. */

import { useMutation } from '@tanstack/react-query';
import { api, bodyOf } from '../api.ts';
import { Spoken } from './announcer.tsx';
import { CopyAs } from './copy-as.tsx';
import { formatCount } from './numbers.tsx';
import { ErrorNotice } from './states.tsx';

interface TestResult {
  ok: boolean;
  models?: number;
  ms: number;
  problem?: string;
}

/** Parts of a line that wraps: the outcome, and at its end the button with its call. */
export function ProviderTest({ id }: { id: string }) {
  const test = useMutation({
    mutationFn: async () =>
      (await bodyOf<{ data: TestResult }>(api.POST('/admin/v1/providers/{id}/test', { params: { path: { id } } })))
        .data,
  });
  const { data } = test;
  return (
    <>
      <Spoken className={data && !data.ok ? 'text-bad' : 'text-good'}>
        {data?.ok &&
          `It answers: ${data.models === 1 ? '1 model' : `${formatCount(data.models ?? 0)} models`} in ${formatCount(data.ms)} ms.`}
        {data && !data.ok && data.problem}
      </Spoken>
      <span className="ml-auto flex items-center gap-1">
        <CopyAs name={`the test of ${id}`} path={`/admin/v1/providers/${id}/test`} method="POST" />
        <button
          type="button"
          className="button"
          aria-label={`Test ${id}`}
          disabled={test.isPending}
          onClick={() => test.mutate()}
        >
          {test.isPending ? 'Asking …' : 'Test'}
        </button>
      </span>
      {test.error && <ErrorNotice error={test.error} />}
    </>
  );
}
