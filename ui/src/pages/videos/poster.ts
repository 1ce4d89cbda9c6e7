/** First frames of videos as pictures, drawn by the browser from the bytes that the gateway serves. */

import { useQuery } from '@tanstack/react-query';

/** Videos that are opened at the same time: a browser has six connections to a server. */
const MAX_AT_ONCE = 2;
const MAX_WIDTH = 640;
const KEEP_MS = 10 * 60_000;

let busy = 0;
const waiting: (() => void)[] = [];

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (busy >= MAX_AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  else busy += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else busy -= 1;
  }
}

/** Data URL of the first frame; null where there is none. */
async function firstFrame(address: string, signal: AbortSignal): Promise<string | null> {
  if (signal.aborted) return null;
  const video = document.createElement('video');
  video.muted = true;
  video.preload = 'auto';
  try {
    await new Promise<void>((resolve, reject) => {
      video.addEventListener('loadeddata', () => resolve());
      video.addEventListener('error', () => reject(video.error));
      signal.addEventListener('abort', () => reject(signal.reason));
      video.src = address;
    });
    const scale = Math.min(1, MAX_WIDTH / video.videoWidth);
    const canvas = document.createElement('canvas');
    canvas.width = Math.round(video.videoWidth * scale);
    canvas.height = Math.round(video.videoHeight * scale);
    canvas.getContext('2d')?.drawImage(video, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL('image/jpeg', 0.85);
  } catch {
    return null;
  } finally {
    // Ends its connection.
    video.removeAttribute('src');
    video.load();
  }
}

export function usePoster(address: string | undefined): string | undefined {
  const { data } = useQuery({
    queryKey: ['poster', address],
    enabled: address !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: KEEP_MS,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => inTurn(() => firstFrame(address ?? '', signal)),
  });
  return data ?? undefined;
}
