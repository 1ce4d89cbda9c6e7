/** Says that times are those of the gateway that answers, where others have their own. */

import { useQuery } from '@tanstack/react-query';
import { replicaList } from '../health/query.ts';

export function TimesKnownHere() {
  const replicas = useQuery(replicaList).data?.data ?? [];
  const here = replicas.find(({ answers }) => answers);
  if (!here || replicas.length < 2) return null;
  return (
    <span className="text-dim">
      Times are as gateway <span className="font-mono">{here.id.slice(0, 8)}</span> knows them; the others have their
      own
    </span>
  );
}
