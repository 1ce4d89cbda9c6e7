/** Says that figures are those of the gateway that answers, where others have their own. */

import { useQuery } from '@tanstack/react-query';
import { replicaList } from '../pages/health/query.ts';

/** `what` begins the sentence, where no title does. */
export function KnownHere({ what = '' }: { what?: string }) {
  const replicas = useQuery(replicaList).data?.data ?? [];
  const here = replicas.find(({ answers }) => answers);
  if (!here || replicas.length < 2) return null;
  return (
    <span className="text-dim">
      {what} as gateway <span className="font-mono">{here.id.slice(0, 8)}</span> knows them; the others have their own
    </span>
  );
}
