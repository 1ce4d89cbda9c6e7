/** Check of a signature of any webhook: an admin chooses the key whose secret it uses. */

import { useState } from 'react';
import { KeyPicker } from '../../parts/key-picker.tsx';
import { useSession } from '../../session.ts';
import { webhookSecrets } from './query.ts';
import { SignatureForm } from './signature-form.tsx';

export function AnySignature() {
  const { isAdmin, mayChange } = useSession();
  const [key, setKey] = useState<string>();
  const canRead = isAdmin ? key !== undefined : mayChange;
  return (
    <SignatureForm
      readSecrets={canRead ? () => webhookSecrets(key) : undefined}
      picker={isAdmin && <KeyPicker label="Key that signs" value={key} onChange={setKey} />}
    />
  );
}
