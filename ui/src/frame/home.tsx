/** First page, by the role of the session. */

import { Navigate } from '@tanstack/react-router';
import { useSession } from '../session.ts';

export function Home() {
  const { isOperator } = useSession();
  return <Navigate to={isOperator ? '/use' : '/key'} replace />;
}
