/** Build of the dashboard's pages. */

import { relative } from 'node:path';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
// @ts-expect-error A script without types.
import { licencesOf } from '../scripts/bundle.mjs';

/** Adds the licences of the libraries that are in the pages. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle() {
      const modules = [...this.getModuleIds()].map((id) => relative('', id.replaceAll('\0', '').replace(/\?.*$/, '')));
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: licencesOf(modules) });
    },
  };
}

// biome-ignore lint/style/noDefaultExport: Vite asks for it.
export default defineConfig({
  base: '/ui/',
  plugins: [react(), tailwind(), licences()],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: 'parts', test: /node_modules\/@ariakit\// },
          ],
        },
      },
    },
  },
});
