/** Build of the dashboard's pages. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
// @ts-expect-error A script without types.
import { licencesOf } from '../scripts/licences.mjs';

/** Adds the licences of the libraries that are in the pages: those of modules, of fonts, and of what styles import. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const modules = [...this.getModuleIds()].map((id) => relative('', id.replaceAll('\0', '').replace(/\?.*$/, '')));
      const styles = modules
        .filter((path) => path.startsWith('src/') && path.endsWith('.css'))
        .flatMap(importedPackages);
      const assets = Object.values(bundle).flatMap((output) =>
        output.type === 'asset' ? output.originalFileNames : [],
      );
      const source = licencesOf([...modules, ...styles, ...assets]);
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source });
    },
  };
}

/** Name of the page whose chunk this is, for budgets of single pages. */
function pageOf(module: string | null): string | undefined {
  return /\/pages\/([\w-]+)\/page\.tsx$/.exec(module ?? '')?.[1];
}

function importedPackages(style: string): string[] {
  const imports = readFileSync(style, 'utf8').matchAll(/@import "([^".][^"]*)"/g);
  return [...imports].map(([, name]) => `node_modules/${name}/index.css`);
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
        chunkFileNames: ({ facadeModuleId }) => `assets/${pageOf(facadeModuleId) ?? '[name]'}-[hash:7].js`,
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
