/** Secret that signs the webhooks of the key, shown when it is asked for: that is noted in the audit log. */

import { useMutation } from '@tanstack/react-query';
import { Eye, EyeOff } from 'lucide-react';
import { api, bodyOf } from '../../api.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card } from '../../parts/page.tsx';
import { ErrorNotice } from '../../parts/states.tsx';

interface Secret {
  secret: string;
  active_at: string;
}

/** The secret is in the memory of this page, and only while it is shown. */
export function WebhookSecret() {
  const reveal = useMutation({
    gcTime: 0,
    mutationFn: async () => (await bodyOf<{ data: Secret[] }>(api.GET('/v1/key/webhook-secret'))).data,
  });
  return (
    <Card title="Webhook secret">
      <div className="flex flex-col gap-3 p-4">
        {reveal.error && <ErrorNotice error={reveal.error} />}
        {reveal.data ? (
          <>
            {reveal.data.map(({ secret, active_at: at }, index) => (
              <div key={secret}>
                {index > 0 && (
                  <p className="mb-1 text-dim">
                    From <Time at={at} /> on
                  </p>
                )}
                <div className="flex items-center gap-2 rounded-lg border bg-page py-1.5 pr-2 pl-3">
                  <code className="min-w-0 flex-1 break-all">{secret}</code>
                  <CopyButton text={secret} label="Copy the secret" />
                </div>
              </div>
            ))}
            <button type="button" className="button self-start" onClick={reveal.reset}>
              <EyeOff size={15} aria-hidden />
              Hide
            </button>
          </>
        ) : (
          <>
            <p className="text-dim">
              Receivers check with it that a webhook is from this gateway. To see it leaves an entry in the audit log.
            </p>
            <button
              type="button"
              className="button self-start"
              disabled={reveal.isPending}
              onClick={() => reveal.mutate()}
            >
              <Eye size={15} aria-hidden />
              Reveal
            </button>
          </>
        )}
      </div>
    </Card>
  );
}
