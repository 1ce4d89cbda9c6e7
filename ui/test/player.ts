/** A video that is played in the page: its file comes in ranges, and a jump goes on from there. */

import assert from 'node:assert/strict';
import type { Page, Response } from 'playwright-core';

/** Runs in the page: jumps in the player, and gives the whole seconds of its video. */
const JUMP = `new Promise((end) => {
  const video = document.querySelector('[role=dialog] video');
  video.onseeked = () => end(Math.round(video.duration));
  video.currentTime = 0.8;
})`;

/** `open` opens the panel of a video of one second. */
export async function playRange(page: Page, open: () => Promise<unknown>): Promise<void> {
  const answers: Response[] = [];
  const keep = (response: Response) => {
    if (response.request().resourceType() === 'media') answers.push(response);
  };
  page.on('response', keep);
  await open();
  await page.getByRole('dialog', { name: 'Video' }).getByLabel('Video 1 of 1').waitFor();
  assert.equal(await page.evaluate(JUMP), 1);
  page.off('response', keep);
  const parts = await Promise.all(
    answers.map(async (answer) => ({
      asked: (await answer.request().allHeaders()).range,
      status: answer.status(),
      sent: answer.headers()['content-range'],
    })),
  );
  const inRanges = parts.filter(
    ({ asked, sent }) => /^bytes=\d+-/.test(asked ?? '') && /^bytes \d+-\d+\/\d+$/.test(sent ?? ''),
  );
  assert.ok(inRanges.length > 0, JSON.stringify(parts));
  assert.ok(
    parts.every(({ status }) => status === 206),
    JSON.stringify(parts),
  );
}
