/** Name of an endpoint, which leads operators to its panel on the page Health. */

import { Link } from '@tanstack/react-router';
import { useSession } from '../session.ts';

interface EndpointLinkProps {
  endpoint: string;
  /** Absent where the provider has one. */
  credential?: number | undefined;
}

export function EndpointLink({ endpoint, credential }: EndpointLinkProps) {
  const { isOperator } = useSession();
  return (
    <>
      {isOperator ? (
        <Link
          to="/health"
          search={{ open: credential === undefined ? endpoint : `${endpoint}#${credential}` }}
          className="text-accent underline-offset-4 hover:underline"
        >
          {endpoint}
        </Link>
      ) : (
        endpoint
      )}
      {credential !== undefined && <span className="font-normal text-dim"> credential {credential}</span>}
    </>
  );
}
